/* Declarations written for Chronoscope: see kernel.h. */
#ifndef ZEPHYR_VERSION_H
#define ZEPHYR_VERSION_H

#define KERNEL_VERSION_STRING "0.0.0"

#endif
