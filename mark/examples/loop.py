"""A loop with marks in Python: they are in a library of C (marks.c), whose path is the argument."""

import ctypes
import sys
import time

marks = ctypes.CDLL(sys.argv[1])

for _ in range(200):
    marks.control_begin()
    total = sum(range(2000))
    marks.control_end()
    time.sleep(0.001)
