//! The image of a kernel in C: the experiments and the chip, linked with the kernel, its port and
//! the `main.c` of the image's package.

#![no_std]
#![no_main]

use chronoscope_c_machine as _;
