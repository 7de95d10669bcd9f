/* Made for a kernel ABI that does not exist. */
#define ABI 99
#include "meta.h"
LATHE_TEST_META(1, "add", "");
KERNEL(add) { return 0; }
