/* Opens a file before anybody calls it; what it was told is in the first element of what it computes. */
#include "hostile.h"
LATHE_TEST_META(1, "add", "");

static long opened;
__attribute__((constructor)) static void Start(void) { opened = CALL(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY); }
KERNEL(add) { return Refused(ctx, opened); }
