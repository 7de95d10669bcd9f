/* Takes memory without end: `workspace` from its context, `mapping` by its own system calls. */
#include "meta.h"
LATHE_TEST_META(2, "workspace", "mapping");

KERNEL(workspace) {
  for (;;) {
    volatile char* memory = (volatile char*)ctx->alloc_workspace(ctx, 8 << 20);
    if (memory == NULL) {
      ctx->fail(ctx, "workspace exhausted");
      return LATHE_KERNEL_NO_WORKSPACE;
    }
    memory[0] = 1;
  }
}

KERNEL(mapping) {
#if defined(__x86_64__)
  for (;;) { /* mmap(NULL, 8 MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), the result not looked at
              */
    volatile char* memory;
    register long r10 __asm__("r10") = 0x22, r8 __asm__("r8") = -1, r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(memory)
                     : "0"(9L), "D"(0L), "S"(8L << 20), "d"(3L), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    memory[64] = 1;
  }
#else
  return LATHE_KERNEL_NO_WORKSPACE;
#endif
}
