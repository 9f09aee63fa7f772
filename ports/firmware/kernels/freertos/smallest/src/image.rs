// FreeRTOS, whose `main` is in C.

use chronoscope_smallest as _;
use cortex_m_rt as _;
