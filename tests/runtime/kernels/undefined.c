/* Calls what it does not have. */
#include "meta.h"
LATHE_TEST_META(1, "add", "");

int getppid(void);
KERNEL(add) { return getppid(); }
