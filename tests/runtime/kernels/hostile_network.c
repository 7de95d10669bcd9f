/* `opens` a socket of the network, `connects` one of the machine. */
#include "hostile.h"
LATHE_TEST_META(2, "opens", "connects");

KERNEL(opens) { return Refused(ctx, CALL(SYS_socket, 2, 1, 0)); }
KERNEL(connects) { return Refused(ctx, CALL(SYS_socket, 1, 1, 0)); }
