/* What CMSIS asks of a chip's header; Zephyr has defaults for the rest. */
#ifndef CHRONOSCOPE_SOC_H
#define CHRONOSCOPE_SOC_H

#define __FPU_PRESENT 1

#endif
