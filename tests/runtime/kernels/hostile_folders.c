/* `floods` a folder with files without content, `mounts` something else over one. */
#include "hostile.h"
LATHE_TEST_META(2, "floods", "mounts");

KERNEL(floods) {
  char name[] = "/tmp/lathe-hostile-0000000";
  for (long i = 0; i < 1000000; ++i) {
    long rest = i;
    for (int at = 25; at > 18; --at, rest /= 10) name[at] = (char)('0' + rest % 10);
    const long made = CALL(SYS_mkdirat, AT_FDCWD, name, 0700);
    if (made < 0) return Refused(ctx, made);
  }
  return Refused(ctx, 0);
}
KERNEL(mounts) { return Refused(ctx, CALL(SYS_mount, "none", "/tmp", "tmpfs")); }
