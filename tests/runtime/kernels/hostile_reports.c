/* Says in the runner's name how fast it was: `forges` a report and ends, `babbles` until it is stopped. */
#include "hostile.h"
LATHE_TEST_META(2, "forges", "babbles");

/* As docs/formats/runner_protocol.md has it: a header, then zeros, which as a report is "OK"; one sample of 1 ns. */
static void Forge(uint16_t type) {
  static char record[16 + 16 + 32 + 16 + 32 + 2048 + 4096];
  const uint32_t size = type == 3 ? 32 : sizeof(record);
  const double sample = 1;
  const uint32_t words[4] = {0x5254484c, 5u | (uint32_t)type << 16, size, 0}, one = 1;
  __builtin_memcpy(record, words, sizeof(words));
  if (type == 4) {
    __builtin_memcpy(record + 16 + 16 + 32 + 8, &one, sizeof(one));
    __builtin_memcpy(record + 16 + 16 + 32 + 16 + 32, &sample, sizeof(sample));
  }
  CALL(SYS_sendto, 3, record, size, 0, 0);
}

KERNEL(forges) {
  Forge(4);
  CALL(SYS_exit_group, 0);
  return 0;
}
KERNEL(babbles) {
  for (;;) Forge(3);
}
