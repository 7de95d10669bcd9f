/* Never ends: `spin` burns CPU time, `sleep` waits in the kernel, where CPU time does not run. */
#include "meta.h"
LATHE_TEST_META(2, "spin", "sleep");

KERNEL(spin) {
  for (volatile int i = 0;;) i = i + 1;
}

KERNEL(sleep) {
#if defined(__x86_64__)
  for (;;) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(34L) : "rcx", "r11", "memory"); /* pause */
  }
#else
  for (;;) __asm__ volatile("" ::: "memory");
#endif
}
