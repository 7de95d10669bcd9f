// CHECK(condition) << "why": ends the process with file, line and reason. For our own mistakes only, never for input.
#pragma once

#include <sstream>

namespace lathe {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  template <typename T>
  CheckFailure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  std::ostringstream text_;
};

// Makes the failure a void expression, so that CHECK is one statement in any `if`.
struct CheckVoidify {
  void operator&(const CheckFailure&) const {}
};

}  // namespace lathe

#define CHECK(condition) \
  (condition) ? (void)0 : ::lathe::CheckVoidify() & ::lathe::CheckFailure(__FILE__, __LINE__, #condition)
#ifdef NDEBUG
#define DCHECK(condition) CHECK(true || (condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif
