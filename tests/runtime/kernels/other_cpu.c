/* Needs what no processor has. */
#define FEATURES "sse9,teleport"
#include "meta.h"
LATHE_TEST_META(1, "add", "");
KERNEL(add) { return 0; }
