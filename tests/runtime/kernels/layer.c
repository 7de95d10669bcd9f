/* For benchmarks: a matrix product of 128 x 128 with vectors of 4 floats; B, the weights, is 64 KiB. */
#define ROWS 128
#define COLS 128
#include "meta.h"
LATHE_TEST_META(1, "matmul", "");

typedef float Vector __attribute__((vector_size(16)));

KERNEL(matmul) {
  const Vector* b = (const Vector*)buffers[1];
  Vector* c = (Vector*)buffers[2];
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLS / 4; j += 4) {
      Vector sum[4] = {{0}, {0}, {0}, {0}};
      for (int k = 0; k < COLS; ++k) {
        const Vector a = {A_[i * COLS + k], A_[i * COLS + k], A_[i * COLS + k], A_[i * COLS + k]};
        for (int v = 0; v < 4; ++v) sum[v] += a * b[k * COLS / 4 + j + v];
      }
      for (int v = 0; v < 4; ++v) c[i * COLS / 4 + j + v] = sum[v];
    }
  }
  return 0;
}
