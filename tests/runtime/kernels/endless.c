/* Never ends: `spin` burns CPU time, `sleep` waits in the kernel, where CPU time does not run. */
#include "hostile.h"
LATHE_TEST_META(2, "spin", "sleep");

KERNEL(spin) {
  for (volatile int i = 0;;) i = i + 1;
}

KERNEL(sleep) {
  const struct {
    long seconds, nanoseconds;
  } long_time = {1000000, 0};
  for (;;) CALL(SYS_nanosleep, &long_time, 0);
}
