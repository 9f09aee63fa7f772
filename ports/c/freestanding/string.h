/* The functions of <string.h> that kernels use; the image has them from Rust's library. */
#ifndef CHRONO_STRING_H
#define CHRONO_STRING_H
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t count);
void *memset(void *to, int byte, size_t count);
int memcmp(const void *one, const void *other, size_t count);
size_t strlen(const char *text);
#endif
