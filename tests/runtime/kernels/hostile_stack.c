/* `overflows` its stack; `aborts` as the C library does. */
#include "hostile.h"
LATHE_TEST_META(2, "overflows", "aborts");

static int Deep(int levels) {
  volatile char held[4096];
  held[0] = (char)levels;
  return levels == 0 ? held[0] : Deep(levels - 1) + held[0];
}

KERNEL(overflows) { return Deep(1000000000) != 0 ? LATHE_KERNEL_ASSERT : 0; }
KERNEL(aborts) {
  const long self = CALL(SYS_getpid, 0);
  CALL(SYS_tgkill, self, CALL(SYS_gettid, 0), SIGABRT);
  return 0;
}
