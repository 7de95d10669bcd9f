#include "runtime/error.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace lathe {

std::string FormatText(const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, args);
  va_end(args);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string ErrnoText(int number) {
  const char* name = strerrorname_np(number);
  return FormatText("%s (%s)", strerrordesc_np(number) != nullptr ? strerrordesc_np(number) : "unknown error",
                    name != nullptr ? name : std::to_string(number).c_str());
}

}  // namespace lathe
