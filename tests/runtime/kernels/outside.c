/* Leaves its buffer: `near` by one element, `far` by a page. 31 x 31 floats leave 60 bytes up to the alignment. */
#define ROWS 31
#define COLS 31
#include "meta.h"
LATHE_TEST_META(2, "near", "far");

KERNEL(near) {
  for (int i = 0; i <= ROWS * COLS; ++i) C_[i] = 0;
  return 0;
}
KERNEL(far) {
  ((volatile float*)C_)[ROWS * COLS + 1000] = 1;
  return 0;
}
