/* Wrong: writes only when it is called first. */
#include "meta.h"
LATHE_TEST_META(1, "add", "");

static int calls;
KERNEL(add) {
  if (calls++ > 0) return 0;
  for (int i = 0; i < ROWS * COLS; ++i) C_[i] = A_[i] + B_[i];
  return 0;
}
