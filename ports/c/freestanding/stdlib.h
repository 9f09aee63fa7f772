/* Kernels include <stdlib.h> and use nothing of it. */
#ifndef CHRONO_STDLIB_H
#define CHRONO_STDLIB_H
#include <stddef.h>
#endif
