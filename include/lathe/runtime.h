/* Runs what `lathe compile` built: load, describe, bind, run. C99 and C++; link Lathe::runtime (liblathe_runtime.so).
 *
 *   LatheNetwork* network = NULL;
 *   LatheTensor x, y;
 *   if (lathe_network_load("net.so", 0, &network) != LATHE_OK) { puts(lathe_last_error()); return 1; }
 *   lathe_network_input(network, 0, &x);       // what it is called, its type and shape
 *   x.data = image;
 *   if (lathe_network_bind_input(network, 0, &x) != LATHE_OK || lathe_network_run(network) != LATHE_OK) ...
 *   lathe_network_output(network, 0, &y);      // y.data is valid until the next run
 *   lathe_network_free(network);
 *
 * Errors: every function that can fail returns a status; what happened, where and what to do says lathe_last_error, one
 * line, of the last call that failed on this thread. A failed call leaves the network as it was, but for the contents
 * of outputs after a failed run.
 * Threads: a network serves one call at a time; different networks are independent of each other, so a program that
 * runs one model on several threads loads it once for each (weights included). Its own threads are those of
 * `num_threads`. A network may be used in the process that loaded it only, not in a forked child.
 * Ownership: memory that is bound is the caller's, and stays valid until something else is bound in its place or the
 * network is freed. Names, shapes and outputs that a network hands out are the network's.
 * Loading runs code of the file: load what you trust. */
#ifndef LATHE_RUNTIME_H_
#define LATHE_RUNTIME_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LATHE_API __attribute__((visibility("default")))

typedef enum LatheStatus { /* gRPC's numbers. */
                           LATHE_OK = 0,
                           LATHE_INVALID_ARGUMENT = 3,
                           LATHE_NOT_FOUND = 5,
                           LATHE_RESOURCE_EXHAUSTED = 8,  /* No memory, no threads, no scratch memory for a kernel. */
                           LATHE_FAILED_PRECONDITION = 9, /* Built for another machine or release. */
                           LATHE_UNIMPLEMENTED = 12,
                           LATHE_INTERNAL = 13,
                           LATHE_UNAVAILABLE = 14,
                           LATHE_DATA_LOSS = 15 /* The file is damaged or no artifact. */
} LatheStatus;

/* DLPack's codes, so that a DLTensor is bound field by field. */
typedef enum LatheDTypeCode {
  LATHE_DTYPE_INT = 0,
  LATHE_DTYPE_UINT = 1,
  LATHE_DTYPE_FLOAT = 2,
  LATHE_DTYPE_BFLOAT = 4,
  LATHE_DTYPE_BOOL = 6
} LatheDTypeCode;
typedef struct LatheDType {
  uint8_t code; /* LatheDTypeCode */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} LatheDType;

typedef struct LatheTensor {
  const char* name; /* What the model calls it. Not read when it is bound. */
  void* data;       /* Of element 0. Any alignment; what is aligned to 64 bytes is not copied. */
  LatheDType dtype;
  int32_t rank;
  const int64_t* shape;   /* `rank` extents, outermost first; described, -1 is one that inputs decide in each run. */
  const int64_t* strides; /* In elements; NULL: compact and row-major. Outputs are. */
} LatheTensor;

typedef struct LatheNetwork LatheNetwork;

/* "0.1.0" */
LATHE_API const char* lathe_version(void);
/* Why the last call that failed on this thread did; "" before there was one. Valid until the next that fails. */
LATHE_API const char* lathe_last_error(void);

/* Loads a network with `num_threads` threads (the caller of lathe_network_run is one of them); 0: as many as the target
 * that it was compiled for has cores, and this process CPUs. On failure *network is NULL. */
LATHE_API LatheStatus lathe_network_load(const char* path, int num_threads, LatheNetwork** network);
/* The same from `num_bytes` bytes in memory, e.g. embedded in the program; they are copied. */
LATHE_API LatheStatus lathe_network_load_memory(const void* data, size_t num_bytes, int num_threads,
                                                LatheNetwork** network);
/* NULL is allowed. */
LATHE_API void lathe_network_free(LatheNetwork* network);

LATHE_API size_t lathe_network_num_inputs(const LatheNetwork* network);
LATHE_API size_t lathe_network_num_outputs(const LatheNetwork* network);
/* What input `index` must be; `data` is what is bound to it, or NULL. */
LATHE_API LatheStatus lathe_network_input(const LatheNetwork* network, size_t index, LatheTensor* tensor);
/* Output `index`: before the first run what it will be, with `data` NULL; after a run its contents, valid until the
 * next run, the next binding of this output or the end of the network. `shape` stays where it is for as long as the
 * network lives; extents that inputs decide are those of the last run. */
LATHE_API LatheStatus lathe_network_output(const LatheNetwork* network, size_t index, LatheTensor* tensor);

/* Where each run reads input `index` from. Type and rank are checked here, extents by the run. */
LATHE_API LatheStatus lathe_network_bind_input(LatheNetwork* network, size_t index, const LatheTensor* tensor);
/* Where each run writes output `index` to: compact memory that overlaps no other tensor of the run. NULL: memory of the
 * network's, as at the beginning. */
LATHE_API LatheStatus lathe_network_bind_output(LatheNetwork* network, size_t index, const LatheTensor* tensor);
/* One inference, on what is bound; returns when the outputs are there. */
LATHE_API LatheStatus lathe_network_run(LatheNetwork* network);

/* ---- Kernels that a program calls by itself: those of a library that `lathe compile FUNC.py` made, through its
 * header. What they need of a runtime is threads, scratch memory, and somebody to tell why they fail. */
typedef struct LatheThreads LatheThreads;
struct LatheContext; /* lathe/kernel_abi.h */
/* 0 threads: as many as this process has CPUs. On failure *threads is NULL. */
LATHE_API LatheStatus lathe_threads_create(int num_threads, LatheThreads** threads);
LATHE_API void lathe_threads_free(LatheThreads* threads); /* NULL is allowed. */
/* For one kernel call at a time; lives as long as `threads`. */
LATHE_API const struct LatheContext* lathe_threads_context(LatheThreads* threads);
/* What the first kernel said that failed since the last call of this function; "" if none did. Valid until the next. */
LATHE_API const char* lathe_threads_failure(LatheThreads* threads);

/* Bytes of a compact tensor of that type and shape; 0 when an extent is -1, or nothing can be that large. */
LATHE_API size_t lathe_tensor_bytes(const LatheTensor* tensor);

#ifdef __cplusplus
}
#endif

#endif /* LATHE_RUNTIME_H_ */
