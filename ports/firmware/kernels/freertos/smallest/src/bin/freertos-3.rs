//! The image with three tasks; its `main` is in C.

#![no_std]
#![no_main]

use chronoscope_smallest as _;
use cortex_m_rt as _;
