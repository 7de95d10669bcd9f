/* `reads` the password file, `fills` a folder of everybody's. */
#include "hostile.h"
LATHE_TEST_META(2, "reads", "fills");

KERNEL(reads) { return Refused(ctx, CALL(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY)); }
KERNEL(fills) {
  const long file = CALL(SYS_openat, AT_FDCWD, "/tmp/lathe-hostile", O_WRONLY | O_CREAT, 0600);
  while (file >= 0 && CALL(SYS_write, file, A_, 4096) > 0) {
  }
  return Refused(ctx, file);
}
