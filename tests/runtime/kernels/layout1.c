/* An artifact of kernel ABI 1 and metadata layout 1, as releases before ABI 2 wrote them: it is still run. */
#include <stddef.h>

#include "runtime/kernel_abi.h"

struct OldMeta {
  LatheMetaHeader header;
  LatheMetaDim dims[2];
  LatheMetaParamV1 params[2];
  LatheMetaKernelV1 kernels[1];
  char target[24], features[8], a[4], b[4], name[8];
};
#define AT(field) ((uint32_t)offsetof(struct OldMeta, field))

__attribute__((section(".lathe.meta"), used, aligned(8))) static const struct OldMeta meta = {
    .header = {LATHE_META_MAGIC, 1, sizeof(struct OldMeta), 1, 19001, AT(target), AT(features), 1, AT(kernels)},
    .dims = {{0, LATHE_DIM_SYMBOL, 0}, {2, LATHE_DIM_CONSTANT, 0}},
    .params = {{AT(a), LATHE_PARAM_BUFFER, LATHE_PARAM_READ, 2, 32, 1, 2, AT(dims)},
               {AT(b), LATHE_PARAM_BUFFER, LATHE_PARAM_WRITE, 2, 32, 1, 2, AT(dims)}},
    .kernels = {{AT(name), AT(name), 2, AT(params), 1, 0}},
    .target = "llvm -num-cores 1",
    .features = "",
    .a = "A",
    .b = "B",
    .name = "twice"};

__attribute__((visibility("default"))) int32_t twice(const LatheContext* ctx, void* const* buffers,
                                                     const int64_t* scalars) {
  (void)ctx;
  for (int64_t i = 0; i < scalars[0] * 2; ++i) ((float*)buffers[1])[i] = 2 * ((const float*)buffers[0])[i];
  return LATHE_KERNEL_OK;
}
