#include "support/check.h"

#include <cstdio>
#include <cstdlib>

namespace lathe {
namespace {

CheckHandler handler = nullptr;

}  // namespace

void SetCheckHandler(CheckHandler to) { handler = to; }

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  text_ << file << ":" << line << ": internal error, " << condition << " does not hold: ";
}

CheckFailure::~CheckFailure() noexcept(false) {
  if (handler != nullptr) handler(text_.str());
  std::fprintf(stderr, "%s\n", text_.str().c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace lathe
