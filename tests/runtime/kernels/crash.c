/* Crashes: `segv` on a null pointer, `ill` on an illegal instruction. */
#include "meta.h"
LATHE_TEST_META(2, "segv", "ill");

KERNEL(segv) {
  *(volatile int*)64 = 1;
  return 0;
}
KERNEL(ill) { __builtin_trap(); }
