/* For benchmarks: a matrix product of 256 x 256 (B, the weights, is 256 KiB), vectorised by the C compiler. */
#define ROWS 256
#define COLS 256
#include "meta.h"
LATHE_TEST_META(1, "matmul", "");

KERNEL(matmul) {
  for (int i = 0; i < ROWS; ++i) {
    float* row = C_ + i * COLS;
    for (int j = 0; j < COLS; ++j) row[j] = 0;
    for (int k = 0; k < COLS; ++k) {
      for (int j = 0; j < COLS; ++j) row[j] += A_[i * COLS + k] * B_[k * COLS + j];
    }
  }
  return 0;
}
