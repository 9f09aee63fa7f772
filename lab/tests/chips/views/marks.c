/* The one file with the code of a board's marks. */
#define CHRONO_MARK_IMPLEMENTATION
#include <chronoscope_mark.h>
