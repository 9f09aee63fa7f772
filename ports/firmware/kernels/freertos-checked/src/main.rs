//! The image: the experiments and the chip, linked with FreeRTOS, its port and the `main.c` of the
//! folder `freertos`.

#![no_std]
#![no_main]

use chronoscope_c_machine as _;
