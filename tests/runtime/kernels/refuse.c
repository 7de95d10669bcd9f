/* Ends in ways of its own: `refuse` returns an error with a reason, `leave` exits the process. */
#include "meta.h"
LATHE_TEST_META(2, "refuse", "leave");

KERNEL(refuse) {
  ctx->fail(ctx, "extent of A is 32, a multiple of 48 required");
  return LATHE_KERNEL_ASSERT;
}
KERNEL(leave) {
#if defined(__x86_64__)
  __asm__ volatile("syscall" ::"a"(231L), "D"(0L) : "rcx", "r11", "memory"); /* exit_group(0) */
#endif
  return LATHE_KERNEL_ASSERT;
}
