/* Marks for a program in Python: one function a mark, in a library that the program loads.
 *
 *     gcc -O2 -shared -fPIC -I mark/include mark/examples/marks.c -o marks.so
 *     chronoscope watch --marks ./marks.so -- python3 mark/examples/loop.py ./marks.so
 */
#include <chronoscope_mark.h>

void control_begin(void) { CHRONO_BEGIN(control); }

void control_end(void) { CHRONO_END(control); }
