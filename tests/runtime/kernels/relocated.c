/* Has addresses in its data, which change with where it is loaded, and memory without contents in the file. */
#define ROWS 1
#define COLS 4
#include "meta.h"
LATHE_TEST_META(1, "add", "");

static const float kOnes[COLS] = {1, 1, 1, 1}, kTwos[COLS] = {2, 2, 2, 2};
static const float* const kRows[2] = {kOnes, kTwos};
static const float* volatile row = kTwos;
static volatile float zeros[5000];

KERNEL(add) {
  for (int i = 0; i < COLS; ++i) C_[i] = A_[i] + kRows[1][i] + row[i] + zeros[4999 - i];
  zeros[4999] = 1;
  return 0;
}
