/* Starts processes: `bomb` without end, `escape` one that leaves the process group and stays. */
#include "hostile.h"
LATHE_TEST_META(2, "bomb", "escape");

KERNEL(bomb) {
  long child = 0;
  while (child >= 0) child = CALL(SYS_clone, SIGCHLD);
  return Refused(ctx, child);
}
KERNEL(escape) {
  const long child = CALL(SYS_clone, SIGCHLD);
  if (child == 0) {
    CALL(SYS_setsid, 0);
    for (;;) CALL(SYS_sched_yield, 0);
  }
  return Refused(ctx, child);
}
