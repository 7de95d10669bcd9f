/* Would run before anybody calls it, and never come back. */
#include "hostile.h"
LATHE_TEST_META(1, "add", "");

__attribute__((constructor)) static void Start(void) {
  for (;;) CALL(SYS_sched_yield, 0);
}
KERNEL(add) { return 0; }
