/* Three buffers of 128 MiB. */
#define ROWS 4096
#define COLS 8192
#include "meta.h"
LATHE_TEST_META(1, "add", "");
KERNEL(add) { return 0; }
