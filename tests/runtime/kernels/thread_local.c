/* Has data of its own for each thread, which needs the dynamic loader. */
#include "meta.h"
LATHE_TEST_META(1, "add", "");

_Thread_local int calls;
KERNEL(add) { return calls++; }
