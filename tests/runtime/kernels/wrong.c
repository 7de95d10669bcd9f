/* Wrong: `add` is off in one element; `unstable` only from the third call on. */
#include "meta.h"
LATHE_TEST_META(2, "add", "unstable");

KERNEL(add) {
  for (int i = 0; i < ROWS * COLS; ++i) C_[i] = A_[i] + B_[i] + (i == 77 ? 0.25f : 0.0f);
  return 0;
}

static int calls;
KERNEL(unstable) {
  ++calls;
  for (int i = 0; i < ROWS * COLS; ++i) C_[i] = A_[i] + B_[i] + (calls > 2 ? 1.0f : 0.0f);
  return 0;
}
