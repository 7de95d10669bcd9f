/* Writes section .lathe.meta for test kernels with float32 buffers A (read), B (read, constant) and C (written), all of
 * one shape. Define ROWS, COLS and FEATURES first, then use LATHE_TEST_META(KERNEL(name), ...). */
#ifndef LATHE_TESTS_RUNTIME_KERNELS_META_H_
#define LATHE_TESTS_RUNTIME_KERNELS_META_H_

#include <stddef.h>

#include "runtime/kernel_abi.h"

#ifndef ROWS
#define ROWS 32
#endif
#ifndef COLS
#define COLS 32
#endif
#ifndef FEATURES
#define FEATURES ""
#endif
#ifndef CODEGEN
#define CODEGEN 19001
#endif
#ifndef ABI
#define ABI LATHE_KERNEL_ABI_VERSION
#endif

#define EXPORT __attribute__((visibility("default")))

struct TestMeta {
  LatheMetaHeader header;
  LatheMetaTables tables;
  LatheMetaDim dims[2];
  LatheMetaParam params[3];
  LatheMetaKernel kernels[2];
  char target[24], features[24], a[4], b[4], c[4], name[24], name2[24];
};

#define AT(field) ((uint32_t)offsetof(struct TestMeta, field))
#define F32_BUFFER(at, use) \
  {at, LATHE_PARAM_BUFFER, use, 2, 32, 1, 2, AT(dims), 0, LATHE_BUFFER_ALIGNMENT, {0, LATHE_DIM_CONSTANT, 0}}
#define NOT_KNOWN {-1, LATHE_DIM_CONSTANT, 0}

/* One kernel, or two under names of their own with the same parameters. */
#define LATHE_TEST_META(count, first, second)                                                                     \
  __attribute__((section(".lathe.meta"), used, aligned(8))) static const struct TestMeta meta = {                 \
      .header = {LATHE_META_MAGIC, LATHE_META_VERSION, sizeof(struct TestMeta), ABI, CODEGEN, AT(target),         \
                 AT(features), count, AT(kernels)},                                                               \
      .dims = {{ROWS, LATHE_DIM_CONSTANT, 0}, {COLS, LATHE_DIM_CONSTANT, 0}},                                     \
      .params = {F32_BUFFER(AT(a), LATHE_PARAM_READ), F32_BUFFER(AT(b), LATHE_PARAM_READ | LATHE_PARAM_CONSTANT), \
                 F32_BUFFER(AT(c), LATHE_PARAM_WRITE)},                                                           \
      .kernels = {{AT(name), AT(name), 3, AT(params), 0, 0, NOT_KNOWN},                                           \
                  {AT(name2), AT(name2), 3, AT(params), 0, 0, NOT_KNOWN}},                                        \
      .target = "llvm -num-cores 1",                                                                              \
      .features = FEATURES,                                                                                       \
      .a = "A",                                                                                                   \
      .b = "B",                                                                                                   \
      .c = "C",                                                                                                   \
      .name = first,                                                                                              \
      .name2 = second}

#define KERNEL(name) EXPORT int32_t name(const LatheContext* ctx, void* const* buffers, const int64_t* scalars)
#define A_ ((const float*)buffers[0])
#define B_ ((const float*)buffers[1])
#define C_ ((float*)buffers[2])

#endif
