/* One kernel `matmul` that never ends, crashes or takes memory without end; which, says ODD. */
#include "tests/runtime/kernels/meta.h"
LATHE_TEST_META(1, "matmul", "matmul");

#define SPIN 1
#define SEGV 2
#define ILL 3
#define SCRATCH 4
#define MAPPING 5

KERNEL(matmul) {
#if ODD == SPIN
  for (volatile int i = 0;;) i = i + 1;
#elif ODD == SEGV
  *(volatile int*)64 = 1;
#elif ODD == ILL
  __builtin_trap();
#elif ODD == SCRATCH
  for (;;) {
    volatile char* memory = (volatile char*)ctx->alloc_workspace(ctx, 64 << 20);
    if (memory == NULL) {
      ctx->fail(ctx, "workspace exhausted");
      return LATHE_KERNEL_NO_WORKSPACE;
    }
    memory[0] = 1;
  }
#elif ODD == MAPPING && defined(__x86_64__)
  for (;;) { /* mmap(NULL, 64 MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), the result not looked at */
    volatile char* memory;
    register long r10 __asm__("r10") = 0x22, r8 __asm__("r8") = -1, r9 __asm__("r9") = 0;
    __asm__ volatile("syscall" : "=a"(memory) : "0"(9L), "D"(0L), "S"(64L << 20), "d"(3L), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    memory[64] = 1;
  }
#else
  return LATHE_KERNEL_NO_WORKSPACE;
#endif
  return 0;
}
