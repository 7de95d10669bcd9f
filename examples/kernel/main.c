/* Calls two kernels that were compiled for this program, without a graph around them. */
#include <lathe/runtime.h>
#include <math.h>
#include <stdio.h>

#include "libkernels.h"

static _Alignas(64) float A[48][32], B[32][64], C[48][64], X[100], Y[101];

static int is_right(void) {
  int i, j, k;
  for (i = 0; i < 48; ++i) {
    for (j = 0; j < 64; ++j) {
      double sum = 0;
      for (k = 0; k < 32; ++k) sum += (double)A[i][k] * (double)B[k][j];
      if (fabs(sum - (double)C[i][j]) > 1e-3) return 0;
    }
  }
  for (i = 0; i < 100; ++i)
    if (fabs(2.5 * (double)X[i] - (double)Y[i]) > 1e-3) return 0;
  return 1;
}

int main(void) {
  LatheThreads* threads = NULL;
  const LatheContext* context;
  int i;
  for (i = 0; i < 48 * 32; ++i) A[i / 32][i % 32] = (float)(i % 17) / 4;
  for (i = 0; i < 32 * 64; ++i) B[i / 64][i % 64] = (float)(i % 23) / 8;
  for (i = 0; i < 100; ++i) X[i] = (float)i;
  if (lathe_threads_create(0, &threads) != LATHE_OK) {
    fprintf(stderr, "%s\n", lathe_last_error());
    return 1;
  }
  context = lathe_threads_context(threads);
  if (matmul(context, &A[0][0], &B[0][0], &C[0][0]) != LATHE_KERNEL_OK || scale(context, X, 2.5F, Y) != LATHE_KERNEL_OK) {
    fprintf(stderr, "%s\n", lathe_threads_failure(threads));
    return 1;
  }
  printf("%s\n", is_right() ? "right" : "wrong");
  if (scale(context, X, 2.5F, Y + 1) != LATHE_KERNEL_OK) printf("%s\n", lathe_threads_failure(threads));
  lathe_threads_free(threads);
  return 0;
}
