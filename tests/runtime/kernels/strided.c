/* Everything that layout 2 can say of parameters:
 *   copy(A: (n, 4) strides (s, 1) offset o; B: (4 * n,) compact; P: address; k: int64)   B[i] = A[...] + k, P[0] = o
 */
#include <stddef.h>

#include "runtime/kernel_abi.h"

enum { kN, kStride, kOffset, kNumSymbols };
struct StridedMeta {
  LatheMetaHeader header;
  LatheMetaTables tables;
  LatheMetaTerm terms[3];
  LatheMetaDim a_dims[2], a_strides[2], b_dims[1];
  LatheMetaParam params[4];
  LatheMetaKernel kernels[1];
  LatheMetaImage images[1];
  LatheMetaDeviceKernel device_kernels[1];
  uint32_t device_args[2];
  uint32_t symbols[4];
  char target[24], features[8], a[4], b[4], p[4], k[4], name[8], n[4], stride[8], offset[8], arch[8];
};
#define AT(field) ((uint32_t)offsetof(struct StridedMeta, field))
#define ZERO {0, LATHE_DIM_CONSTANT, 0}

__attribute__((section(".lathe.meta"), used, aligned(8))) static const struct StridedMeta meta = {
    .header = {LATHE_META_MAGIC, LATHE_META_VERSION, sizeof(struct StridedMeta), LATHE_KERNEL_ABI_VERSION, 19001,
               AT(target), AT(features), 1, AT(kernels)},
    .tables = {3, AT(terms), 1, AT(images), 1, AT(device_kernels)},
    .terms = {{kN, LATHE_TERM_SYMBOL, 0}, {4, LATHE_TERM_CONSTANT, 0}, {0, LATHE_TERM_MUL, 0}},
    .a_dims = {{kN, LATHE_DIM_SYMBOL, 0}, {4, LATHE_DIM_CONSTANT, 0}},
    .a_strides = {{kStride, LATHE_DIM_SYMBOL, 0}, {1, LATHE_DIM_CONSTANT, 0}},
    .b_dims = {{0, LATHE_DIM_PROGRAM, 3}},
    .params = {{AT(a),
                LATHE_PARAM_BUFFER,
                LATHE_PARAM_READ | LATHE_PARAM_STRIDED,
                2,
                32,
                1,
                2,
                AT(a_dims),
                AT(a_strides),
                4,
                {kOffset, LATHE_DIM_SYMBOL, 0}},
               {AT(b), LATHE_PARAM_BUFFER, LATHE_PARAM_WRITE, 2, 32, 1, 1, AT(b_dims), 0, 64, ZERO},
               {AT(p), LATHE_PARAM_POINTER, LATHE_PARAM_WRITE | LATHE_PARAM_ALIASES, 0, 64, 1, 0, 0, 0, 8, ZERO},
               {AT(k), LATHE_PARAM_SCALAR, LATHE_PARAM_READ, 0, 64, 1, 0, 0, 0, 1, ZERO}},
    .kernels = {{AT(name), AT(name), 4, AT(params), kNumSymbols, AT(symbols), {256, LATHE_DIM_CONSTANT, 0}}},
    .images = {{0, 16, LATHE_IMAGE_CUBIN, AT(arch)}},
    .device_kernels = {{AT(name), 0, 1, 2, AT(device_args), 49152, 256, 0}},
    .device_args = {8, 4},
    .symbols = {AT(n), AT(stride), AT(offset), 0},
    .target = "llvm -num-cores 1",
    .features = "",
    .a = "A",
    .b = "B",
    .p = "P",
    .k = "k",
    .name = "copy",
    .n = "n",
    .stride = "stride",
    .offset = "offset",
    .arch = "sm_90a"};

__attribute__((visibility("default"))) int32_t copy(const LatheContext* ctx, void* const* buffers,
                                                    const int64_t* scalars) {
  const float* a = buffers[0];
  float* b = buffers[1];
  const int64_t k = scalars[0], *symbols = scalars + 1;
  (void)ctx;
  for (int64_t i = 0; i < symbols[kN]; ++i)
    for (int64_t j = 0; j < 4; ++j) b[i * 4 + j] = a[symbols[kOffset] + i * symbols[kStride] + j] + (float)k;
  *(int64_t*)buffers[2] = symbols[kOffset];
  return LATHE_KERNEL_OK;
}
