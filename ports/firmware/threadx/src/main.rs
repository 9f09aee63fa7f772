//! The image: the experiments and the chip, linked with ThreadX, its port and `main.c`.

#![no_std]
#![no_main]

use chronoscope_c_machine as _;
