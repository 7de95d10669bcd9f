/* The border between generated code and everything that calls it. C, because LLVM code, C99 code, device servers and
 * bare-metal boards all read it. Nothing here may change meaning without raising LATHE_KERNEL_ABI_VERSION.
 *
 * A kernel is  int32_t f(const LatheContext*, void* const* buffers, const int64_t* scalars):
 *   buffers  the data pointers of the buffer and pointer parameters, in parameter order, aligned as the metadata says;
 *   scalars  scalar parameters, then symbols (extents, strides, offsets in elements), in metadata order; floats by bit
 *            pattern;
 *   returns  0, or a LatheKernelError after ctx->fail has been told why.
 * Kernels keep no state and call nothing but the context, so any number of threads may run one at once.
 *
 * Every pointer in a struct that generated code reads occupies 8 bytes on every machine (on a 32-bit one the pointer is
 * the lower half), so an offset is a number of this page and not a property of the machine that compiled. */
#ifndef LATHE_RUNTIME_KERNEL_ABI_H_
#define LATHE_RUNTIME_KERNEL_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LATHE_KERNEL_ABI_VERSION 2
#define LATHE_KERNEL_ABI_OLDEST 1 /* The oldest that a runtime of this version still runs. */
#define LATHE_BUFFER_ALIGNMENT 64

/* A pointer field of 8 bytes. */
#define LATHE_POINTER(declaration, slot) \
  union {                                \
    declaration;                         \
    uint64_t slot;                       \
  }

typedef struct LatheContext LatheContext;
/* One piece of a parallel loop: iterations [begin, end). Runs on any thread; 0 or an error, as a kernel. */
typedef int32_t (*LatheParallelBody)(const LatheContext* ctx, void* closure, int64_t begin, int64_t end);

enum LatheLaunchFlags {
  LATHE_LAUNCH_COOPERATIVE = 1, /* All blocks resident at once: grid-wide barriers are allowed. */
  LATHE_LAUNCH_DEPENDENT = 2    /* May begin before the kernel in front of it on the stream has ended. */
};
/* How to start a device kernel of this artifact's embedded images. Since ABI 2. */
typedef struct {
  LATHE_POINTER(const char* kernel, kernel_slot); /* Name of a row of the metadata's device kernels. */
  LATHE_POINTER(void* const* args, args_slot);    /* Address of each argument's value, in the row's order. */
  uint32_t num_args;
  uint32_t grid[3], block[3], cluster[3]; /* Extents >= 1; a cluster of 1, 1, 1 is none. */
  uint32_t shared_bytes;                  /* Dynamic shared memory per block. */
  uint32_t flags;                         /* LatheLaunchFlags */
  int32_t priority;                       /* 0 = the stream's. */
} LatheLaunch;

struct LatheContext {
  uint32_t abi_version; /* LATHE_KERNEL_ABI_VERSION of the caller; a kernel of an older one ignores what it lacks. */
  uint32_t num_threads; /* Threads that parallel_for may use, >= 1. */
  int32_t device_type;  /* DLPack's DLDeviceType: 1 = CPU. */
  int32_t device_id;
  LATHE_POINTER(void* runtime, runtime_slot); /* The caller's own; kernels pass it through. */
  /* Runs body over [0, extent) in pieces, returns when all are done; the first error, if any. A call from inside a body
   * runs serially on the calling thread. On bare metal this is one call of body. */
  LATHE_POINTER(int32_t (*parallel_for)(const LatheContext* ctx, LatheParallelBody body, void* closure, int64_t extent),
                parallel_for_slot);
  /* Scratch memory aligned to LATHE_BUFFER_ALIGNMENT, uninitialised; NULL when there is none. Freed in reverse order by
   * the thread that took it. */
  LATHE_POINTER(void* (*alloc_workspace)(const LatheContext* ctx, uint64_t bytes), alloc_workspace_slot);
  LATHE_POINTER(void (*free_workspace)(const LatheContext* ctx, void* memory), free_workspace_slot);
  /* Enqueues a device kernel on `stream`. (ABI 1 had another signature, which no kernel ever called.) */
  LATHE_POINTER(int32_t (*launch)(const LatheContext* ctx, const LatheLaunch* launch), launch_slot);
  /* Records why the kernel is about to return an error. `message` is copied. */
  LATHE_POINTER(void (*fail)(const LatheContext* ctx, const char* message), fail_slot);
  /* Since ABI 2. The device's queue that launches go to, in order; NULL for the default one and on a CPU. */
  LATHE_POINTER(void* stream, stream_slot);
};

/* Offsets that generated code uses, the same on every machine. */
enum LatheContextOffset {
  LATHE_CONTEXT_PARALLEL_FOR = 24,
  LATHE_CONTEXT_ALLOC_WORKSPACE = 32,
  LATHE_CONTEXT_FREE_WORKSPACE = 40,
  LATHE_CONTEXT_LAUNCH = 48,
  LATHE_CONTEXT_FAIL = 56,
  LATHE_CONTEXT_STREAM = 64,
  LATHE_CONTEXT_BYTES = 72
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
 * total_bytes before it follows it. Rows named V1 are layout 1, which is still read. */
#define LATHE_META_MAGIC 0x4154454d4548544cULL /* "LTHEMETA" */
#define LATHE_META_VERSION 2
#define LATHE_META_OLDEST 1
#define LATHE_META_MAX_RANK 16 /* Dimensions of a buffer parameter. */

typedef struct { /* The beginning of every layout, and all of layout 1. */
  uint64_t magic;
  uint32_t version; /* LATHE_META_VERSION */
  uint32_t total_bytes;
  uint32_t abi_version;     /* LATHE_KERNEL_ABI_VERSION the code was made for. */
  uint32_t codegen_version; /* LLVM major * 1000 + an integer raised when emitted code may run differently. */
  uint32_t target_offset;   /* String: the canonical target. */
  uint32_t features_offset; /* String: comma-separated CPU features the code needs, e.g. "avx2,fma"; may be empty. */
  uint32_t num_kernels;
  uint32_t kernels_offset; /* LatheMetaKernel[num_kernels], of layout 1 LatheMetaKernelV1 */
} LatheMetaHeader;

typedef struct { /* Layout 2: what follows the header. */
  uint32_t num_terms;
  uint32_t terms_offset; /* LatheMetaTerm[num_terms]: the programs of all extents of the section. */
  uint32_t num_images;
  uint32_t images_offset; /* LatheMetaImage[num_images] */
  uint32_t num_device_kernels;
  uint32_t device_kernels_offset; /* LatheMetaDeviceKernel[num_device_kernels] */
} LatheMetaTables;

enum LatheMetaDimKind {
  LATHE_DIM_CONSTANT = 0,
  LATHE_DIM_SYMBOL = 1, /* The symbol with number `value`. */
  LATHE_DIM_PROGRAM = 2 /* `length` terms from number `value` on. */
};
typedef struct { /* An extent, stride, offset or size. */
  int64_t value;
  uint32_t kind;   /* LatheMetaDimKind */
  uint32_t length; /* Of a program, else 0. */
} LatheMetaDim;

/* A program is a postfix expression over int64, evaluated on a stack that begins empty and ends with one number.
 * Overflow and division by zero are errors. Division and modulo round toward minus infinity. */
enum LatheMetaTermOp {
  LATHE_TERM_CONSTANT = 0, /* Pushes value. */
  LATHE_TERM_SYMBOL = 1,   /* Pushes symbol number `value`. */
  LATHE_TERM_SCALAR = 2,   /* Pushes scalar parameter number `value` (an integer), counted among the scalars. */
  LATHE_TERM_ADD = 3,      /* The rest replace the upper two, a b, by one. */
  LATHE_TERM_SUB = 4,
  LATHE_TERM_MUL = 5,
  LATHE_TERM_FLOORDIV = 6,
  LATHE_TERM_FLOORMOD = 7,
  LATHE_TERM_MIN = 8,
  LATHE_TERM_MAX = 9
};
typedef struct {
  int64_t value; /* 0 where the operation has none. */
  uint32_t op;   /* LatheMetaTermOp */
  uint32_t reserved;
} LatheMetaTerm;

typedef struct {
  uint32_t name_offset;    /* String: the PrimFunc's name. */
  uint32_t symbol_offset;  /* String: the ELF symbol to look up. */
  uint32_t num_params;     /* In parameter order. */
  uint32_t params_offset;  /* LatheMetaParam[num_params] */
  uint32_t num_symbols;    /* In the order of `scalars` after the scalar parameters. */
  uint32_t symbols_offset; /* uint32_t[num_symbols]: string offsets of their names. */
  LatheMetaDim workspace;  /* Bytes of scratch memory that one call takes at most; the constant -1: not known. */
} LatheMetaKernel;

enum LatheMetaParamKind {
  LATHE_PARAM_BUFFER = 0,
  LATHE_PARAM_SCALAR = 1,
  LATHE_PARAM_POINTER = 2 /* An address without shape; takes a place among `buffers`. Since layout 2. */
};
enum LatheMetaParamFlags {
  LATHE_PARAM_READ = 1,
  LATHE_PARAM_WRITE = 2,
  LATHE_PARAM_CONSTANT = 4, /* weights: same in every call */
  LATHE_PARAM_STRIDED = 8,  /* strides_offset says how the elements lie; else compact and row-major. */
  LATHE_PARAM_ALIASES = 16  /* May overlap other parameters with this flag; those without overlap nothing. */
};

typedef struct {
  uint32_t name_offset;
  uint8_t kind;       /* LatheMetaParamKind */
  uint8_t flags;      /* LatheMetaParamFlags */
  uint8_t dtype_code; /* DLPack's DLDataTypeCode: 0 int, 1 uint, 2 float, 4 bfloat, 6 bool. */
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  uint16_t rank;           /* 0 for scalars and pointers. */
  uint32_t dims_offset;    /* LatheMetaDim[rank], outermost first. */
  uint32_t strides_offset; /* LatheMetaDim[rank], in elements; only with LATHE_PARAM_STRIDED. */
  uint32_t alignment;      /* Of the data pointer, in bytes; a power of two. */
  LatheMetaDim offset;     /* Of element 0 from the data pointer, in elements. */
} LatheMetaParam;

enum LatheImageKind {
  LATHE_IMAGE_CUBIN = 0,
  LATHE_IMAGE_PTX = 1,
  LATHE_IMAGE_FATBIN = 2,
  LATHE_IMAGE_OPENCL_C = 3,
  LATHE_IMAGE_SPIRV = 4
};
typedef struct {   /* Code for a device, in section `.lathe.device`. */
  uint64_t offset; /* From the start of that section. */
  uint64_t bytes;
  uint32_t kind;        /* LatheImageKind */
  uint32_t arch_offset; /* String: what it runs on, e.g. "sm_90a"; empty where the kind says enough. */
} LatheMetaImage;

typedef struct {
  uint32_t name_offset; /* String: as LatheLaunch.kernel names it; also the entry point in the image. */
  uint32_t image;       /* Number of the image, or of the first of several for different architectures. */
  uint32_t num_images;  /* Alternatives, the best first; >= 1. */
  uint32_t num_args;
  uint32_t args_offset;  /* uint32_t[num_args]: bytes of each argument's value. */
  uint32_t shared_bytes; /* The largest dynamic shared memory that any launch asks for. */
  uint32_t max_threads;  /* The largest block that any launch asks for; 0 = not known. */
  uint32_t reserved;
} LatheMetaDeviceKernel;

typedef struct {
  uint32_t name_offset;
  uint32_t symbol_offset;
  uint32_t num_params;
  uint32_t params_offset; /* LatheMetaParamV1[num_params] */
  uint32_t num_symbols;
  uint32_t reserved;
} LatheMetaKernelV1;

typedef struct {
  uint32_t name_offset;
  uint8_t kind;
  uint8_t flags;
  uint8_t dtype_code;
  uint8_t dtype_bits;
  uint16_t dtype_lanes;
  uint16_t rank;
  uint32_t dims_offset; /* LatheMetaDim[rank] without programs; the buffer is compact and row-major. */
} LatheMetaParamV1;

/* ---- Section `.lathe.graph` of an artifact (docs/formats/graph.md): which kernels to call in which order, on which
 * memory. Same rules as `.lathe.meta`. Section `.lathe.const` holds the constants' bytes, each at a multiple of
 * LATHE_BUFFER_ALIGNMENT. */
#define LATHE_GRAPH_MAGIC 0x485052474548544cULL /* "LTHEGRPH" */
#define LATHE_GRAPH_VERSION 2
#define LATHE_GRAPH_OLDEST 1

typedef struct { /* The beginning of every layout, and all of layout 1. */
  uint64_t magic;
  uint32_t version; /* LATHE_GRAPH_VERSION */
  uint32_t total_bytes;
  uint64_t arena_bytes;    /* Memory for what lives between two calls and has a constant place. */
  uint64_t constant_bytes; /* Size of `.lathe.const`. */
  uint32_t num_values;
  uint32_t values_offset; /* LatheGraphValue[num_values], of layout 1 LatheGraphValueV1 */
  uint32_t num_calls;
  uint32_t calls_offset; /* LatheGraphCall[num_calls], in order; of layout 1 LatheGraphCallV1 */
  uint32_t num_inputs;
  uint32_t inputs_offset; /* LatheGraphPort[num_inputs] */
  uint32_t num_outputs;
  uint32_t outputs_offset; /* LatheGraphPort[num_outputs] */
} LatheGraphHeader;

typedef struct { /* Layout 2: what follows the header. */
  uint32_t num_terms;
  uint32_t terms_offset; /* LatheMetaTerm[num_terms]; LATHE_TERM_SYMBOL names a symbol of the graph, no scalars. */
  uint32_t num_symbols;
  uint32_t symbols_offset; /* LatheGraphSymbol[num_symbols] */
  uint32_t num_states;
  uint32_t states_offset; /* LatheGraphState[num_states] */
} LatheGraphTables;

enum LatheGraphStorage {
  LATHE_STORAGE_INPUT = 0,
  LATHE_STORAGE_OUTPUT = 1,
  LATHE_STORAGE_CONSTANT = 2,
  LATHE_STORAGE_ARENA = 3,
  LATHE_STORAGE_STATE = 4, /* Lives from run to run, one copy per executor. Since layout 2. */
  LATHE_STORAGE_SIZED =
      5 /* Memory of its own, sized anew in each run: extents that only a run knows. Since layout 2. */
};

typedef struct { /* An extent that the inputs decide. Its value is that of the first input dimension that is it. */
  uint32_t name_offset; /* String, e.g. "batch". */
  uint32_t reserved;
  int64_t least, most; /* What the kernels were made for; both ends count. */
} LatheGraphSymbol;

typedef struct {  /* A tensor. Two values may share memory: views, and what lives at different times. */
  uint64_t place; /* Number of the input, output, state or sized memory; or bytes from the start of `.lathe.const` or of
                     the arena. */
  uint8_t storage;    /* LatheGraphStorage */
  uint8_t dtype_code; /* As in LatheMetaParam. */
  uint8_t dtype_bits;
  uint8_t rank;
  uint32_t dims_offset;    /* LatheMetaDim[rank], outermost first. */
  uint32_t strides_offset; /* LatheMetaDim[rank], in elements; 0 for compact and row-major. */
  uint32_t device;         /* 0 = the host. */
  LatheMetaDim offset;     /* Of element 0 from `place`, in elements. */
} LatheGraphValue;

enum LatheGraphArgKind { LATHE_ARG_VALUE = 0, LATHE_ARG_SCALAR = 1 };
typedef struct {
  LatheMetaDim scalar; /* Of an integer scalar parameter. */
  uint32_t kind;       /* LatheGraphArgKind */
  uint32_t value;      /* Of a buffer or pointer parameter. */
} LatheGraphArg;

typedef struct {
  uint32_t kernel_offset; /* String: the name of a kernel of `.lathe.meta`. */
  uint32_t num_args;
  uint32_t args_offset; /* LatheGraphArg[num_args] in the order of the kernel's parameters; any number are written. */
  uint32_t reserved;
} LatheGraphCall;

typedef struct {
  uint32_t name_offset; /* String: what the model calls it. */
  uint32_t value;       /* Its type and shape. An output that no kernel writes is copied from this value. */
} LatheGraphPort;

typedef struct {
  uint32_t name_offset; /* String, e.g. "layer_0.key_cache". */
  uint32_t value;       /* Its type and (constant) shape; storage STATE. */
  uint32_t initial;     /* Number + 1 of a constant value of the same type and shape; 0: zeros. */
  uint32_t reserved;
} LatheGraphState;

typedef struct {
  uint64_t place;
  uint8_t storage;
  uint8_t dtype_code;
  uint8_t dtype_bits;
  uint8_t rank;
  uint32_t dims_offset; /* int64_t[rank] */
} LatheGraphValueV1;

typedef struct {
  uint32_t kernel_offset;
  uint32_t num_args;
  uint32_t args_offset; /* uint32_t[num_args]: values. */
  uint32_t reserved;
} LatheGraphCallV1;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* LATHE_RUNTIME_KERNEL_ABI_H_ */
