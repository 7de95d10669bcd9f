// CHECK(condition) << "why": for our own mistakes only, never for input. It does not return: the process ends with
// file, line and reason, unless the program's door has set a handler that throws.
#pragma once

#include <sstream>
#include <string>

namespace lathe {

// Is given the text of a failed CHECK on the thread where it failed. It may throw; where it returns the text is printed
// and the process ends. In destructors, noexcept functions and threads that nobody catches for, an exception ends it,
// too. Set it once, before other threads run; nullptr is none.
using CheckHandler = void (*)(const std::string& text);
void SetCheckHandler(CheckHandler handler);

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure() noexcept(false);
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
