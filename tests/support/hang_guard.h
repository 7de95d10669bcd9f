// Where a call of the product or of the library demands a limit, and the test means "until it happens".
#pragma once

#include <chrono>

namespace lathe {

// No machine is so slow. A test that hangs is ended by ctest's TIMEOUT, which names it.
inline constexpr std::chrono::hours kHangGuard{24};

}  // namespace lathe
