/* `kills` every process that it may, `traces` the first one. */
#include "hostile.h"
LATHE_TEST_META(2, "kills", "traces");

KERNEL(kills) { return Refused(ctx, CALL(SYS_kill, -1, SIGKILL)); }
KERNEL(traces) { return Refused(ctx, CALL(SYS_ptrace, 16, 1)); }
