#include "support/check.h"

#include <cstdio>
#include <cstdlib>

namespace lathe {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  text_ << file << ":" << line << ": internal error, " << condition << " does not hold: ";
}

CheckFailure::~CheckFailure() {
  text_ << "\n";
  std::fputs(text_.str().c_str(), stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace lathe
