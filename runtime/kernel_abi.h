/* The border between generated code and everything that calls it. C, because LLVM code, C99 code, device servers and
 * bare-metal boards all read it. Nothing here may change meaning without raising LATHE_KERNEL_ABI_VERSION.
 *
 * A kernel is  int32_t f(const LatheContext*, void* const* buffers, const int64_t* scalars):
 *   buffers  the data pointers of the buffer parameters, in parameter order, each aligned to LATHE_BUFFER_ALIGNMENT;
 *   scalars  scalar parameters, then symbolic extents, strides and offsets, in metadata order; floats by bit pattern;
 *   returns  0, or a LatheKernelError after ctx->fail has been told why.
 * Kernels keep no state and call nothing but the context, so any number of threads may run one at once. */
#ifndef LATHE_RUNTIME_KERNEL_ABI_H_
#define LATHE_RUNTIME_KERNEL_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LATHE_KERNEL_ABI_VERSION 1
#define LATHE_BUFFER_ALIGNMENT 64

typedef struct LatheContext LatheContext;
/* One piece of a parallel loop: iterations [begin, end). Runs on any thread; 0 or an error, as a kernel. */
typedef int32_t (*LatheParallelBody)(const LatheContext* ctx, void* closure, int64_t begin, int64_t end);

struct LatheContext {
  uint32_t abi_version; /* LATHE_KERNEL_ABI_VERSION of the caller. */
  uint32_t num_threads; /* Threads that parallel_for may use, >= 1. */
  int32_t device_type;  /* DLPack's DLDeviceType: 1 = CPU. */
  int32_t device_id;
  void* runtime; /* The caller's own; kernels pass it through. */
  /* Runs body over [0, extent) in pieces, returns when all are done; the first error, if any. A call from inside a body
   * runs serially on the calling thread. On bare metal this is one call of body. */
  int32_t (*parallel_for)(const LatheContext* ctx, LatheParallelBody body, void* closure, int64_t extent);
  /* Scratch memory aligned to LATHE_BUFFER_ALIGNMENT, uninitialised; NULL when there is none. Freed in reverse order by
   * the thread that took it. */
  void* (*alloc_workspace)(const LatheContext* ctx, uint64_t bytes);
  void (*free_workspace)(const LatheContext* ctx, void* memory);
  /* Starts device kernel `name` of this artifact's embedded device code; grid and block are 3 extents each. */
  int32_t (*launch)(const LatheContext* ctx, const char* name, void* const* args, uint32_t num_args,
                    const uint32_t* grid, const uint32_t* block, uint32_t shared_bytes);
  /* Records why the kernel is about to return an error. `message` is copied. */
  void (*fail)(const LatheContext* ctx, const char* message);
};

typedef int32_t (*LatheKernel)(const LatheContext* ctx, void* const* buffers, const int64_t* scalars);

enum LatheKernelError {
  LATHE_KERNEL_OK = 0,
  LATHE_KERNEL_ASSERT = 1,
  LATHE_KERNEL_NO_WORKSPACE = 2,
  LATHE_KERNEL_LAUNCH = 3
};

/* ---- Section `.lathe.meta` of an artifact (docs/formats/artifact.md). Little-endian, offsets from the start of the
 * section, strings NUL-terminated UTF-8, every table 8-byte aligned. A reader checks each offset and count against
 * total_bytes before it follows it. */
#define LATHE_META_MAGIC 0x4154454d4548544cULL /* "LTHEMETA" */
#define LATHE_META_VERSION 1

typedef struct {
  uint64_t magic;
  uint32_t version; /* LATHE_META_VERSION */
  uint32_t total_bytes;
  uint32_t abi_version;     /* LATHE_KERNEL_ABI_VERSION the code was made for. */
  uint32_t codegen_version; /* LLVM major * 1000 + an integer raised when emitted code may run differently. */
  uint32_t target_offset;   /* String: the canonical target. */
  uint32_t features_offset; /* String: comma-separated CPU features the code needs, e.g. "avx2,fma"; may be empty. */
  uint32_t num_kernels;
  uint32_t kernels_offset; /* LatheMetaKernel[num_kernels] */
} LatheMetaHeader;

typedef struct {
  uint32_t name_offset;   /* String: the PrimFunc's name. */
  uint32_t symbol_offset; /* String: the ELF symbol to look up. */
  uint32_t num_params;    /* Buffers and scalars in parameter order. */
  uint32_t params_offset; /* LatheMetaParam[num_params] */
  uint32_t num_symbols;   /* Symbolic extents, in the order of `scalars` after the scalar parameters. */
  uint32_t reserved;
} LatheMetaKernel;

enum LatheMetaParamKind { LATHE_PARAM_BUFFER = 0, LATHE_PARAM_SCALAR = 1 };
enum LatheMetaParamFlags {
  LATHE_PARAM_READ = 1,
  LATHE_PARAM_WRITE = 2,
  LATHE_PARAM_CONSTANT = 4 /* weights: same in every call */
};
enum LatheMetaDimKind { LATHE_DIM_CONSTANT = 0, LATHE_DIM_SYMBOL = 1 };

typedef struct {
  uint32_t name_offset;
  uint8_t kind;       /* LatheMetaParamKind */
  uint8_t flags;      /* LatheMetaParamFlags */
  uint8_t dtype_code; /* DLPack's DLDataTypeCode: 0 int, 1 uint, 2 float, 4 bfloat, 6 bool. */
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  uint16_t rank;        /* 0 for scalars. */
  uint32_t dims_offset; /* LatheMetaDim[rank], outermost first; the buffer is compact and row-major. */
} LatheMetaParam;

typedef struct {
  int64_t value; /* The extent, or the symbol's index. */
  uint32_t kind; /* LatheMetaDimKind */
  uint32_t reserved;
} LatheMetaDim;

/* ---- Section `.lathe.graph` of an artifact (docs/formats/graph.md): which kernels to call in which order, on which
 * memory. Same rules as `.lathe.meta`. Section `.lathe.const` holds the constants' bytes, each at a multiple of
 * LATHE_BUFFER_ALIGNMENT. */
#define LATHE_GRAPH_MAGIC 0x485052474548544cULL /* "LTHEGRPH" */
#define LATHE_GRAPH_VERSION 1

typedef struct {
  uint64_t magic;
  uint32_t version; /* LATHE_GRAPH_VERSION */
  uint32_t total_bytes;
  uint64_t arena_bytes;    /* Memory for everything that lives between two calls. */
  uint64_t constant_bytes; /* Size of `.lathe.const`. */
  uint32_t num_values;
  uint32_t values_offset; /* LatheGraphValue[num_values] */
  uint32_t num_calls;
  uint32_t calls_offset; /* LatheGraphCall[num_calls], in order. */
  uint32_t num_inputs;
  uint32_t inputs_offset; /* LatheGraphPort[num_inputs] */
  uint32_t num_outputs;
  uint32_t outputs_offset; /* LatheGraphPort[num_outputs] */
} LatheGraphHeader;

enum LatheGraphStorage {
  LATHE_STORAGE_INPUT = 0,
  LATHE_STORAGE_OUTPUT = 1,
  LATHE_STORAGE_CONSTANT = 2,
  LATHE_STORAGE_ARENA = 3
};

typedef struct {   /* A compact row-major tensor. Two values may share memory: views, and what lives at different times.
                    */
  uint64_t place;  /* Number of the input or output, or bytes from the start of `.lathe.const` or of the arena. */
  uint8_t storage; /* LatheGraphStorage */
  uint8_t dtype_code; /* As in LatheMetaParam. */
  uint8_t dtype_bits;
  uint8_t rank;
  uint32_t dims_offset; /* int64_t[rank], outermost first. */
} LatheGraphValue;

typedef struct {
  uint32_t kernel_offset; /* String: the name of a kernel of `.lathe.meta`. */
  uint32_t num_args;
  uint32_t args_offset; /* uint32_t[num_args]: values in the order of the kernel's parameters. */
  uint32_t reserved;
} LatheGraphCall;

typedef struct {
  uint32_t name_offset; /* String: what the model calls it. */
  uint32_t value;       /* Its type and shape. An output that no kernel writes is copied from this value. */
} LatheGraphPort;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* LATHE_RUNTIME_KERNEL_ABI_H_ */
