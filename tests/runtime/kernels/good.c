/* Works: an element-wise sum, and a square matrix product whose rows are a parallel loop. */
#define ROWS 64
#define COLS 64
#include "meta.h"
LATHE_TEST_META(2, "add", "matmul");

KERNEL(add) {
  for (int i = 0; i < ROWS * COLS; ++i) C_[i] = A_[i] + B_[i];
  return 0;
}

static int32_t MatmulRows(const LatheContext* ctx, void* closure, int64_t begin, int64_t end) {
  void* const* buffers = (void* const*)closure;
  float* row = (float*)ctx->alloc_workspace(ctx, COLS * sizeof(float));
  if (row == NULL) return LATHE_KERNEL_NO_WORKSPACE;
  for (int64_t i = begin; i < end; ++i) {
    for (int j = 0; j < COLS; ++j) row[j] = 0;
    for (int k = 0; k < COLS; ++k) {
      for (int j = 0; j < COLS; ++j) row[j] += A_[i * COLS + k] * B_[k * COLS + j];
    }
    for (int j = 0; j < COLS; ++j) C_[i * COLS + j] = row[j];
  }
  ctx->free_workspace(ctx, row);
  return 0;
}

KERNEL(matmul) { return ctx->parallel_for(ctx, MatmulRows, (void*)buffers, ROWS); }
