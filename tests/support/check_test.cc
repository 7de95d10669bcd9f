#include "support/check.h"

#include <gmock/gmock.h>

#include <stdexcept>

namespace lathe {
namespace {

using testing::HasSubstr;

[[noreturn]] void Throw(const std::string& text) { throw std::runtime_error(text); }

struct Handler {
  explicit Handler(CheckHandler handler) { SetCheckHandler(handler); }
  ~Handler() { SetCheckHandler(nullptr); }
};

std::string TextOfFailure() {
  const std::string owned = "is destroyed on the way";
  try {
    CHECK(owned.empty()) << owned;
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(CheckDeathTest, EndsTheProcessWithItsText) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(CHECK(1 > 2) << "order", "check_test.cc:[0-9]+: internal error, 1 > 2 does not hold: order");
  const Handler returns([](const std::string&) {});
  EXPECT_DEATH(CHECK(1 > 2) << "order", "order");
}

TEST(Check, ThrowsWhatItsHandlerThrows) {
  const Handler handler(Throw);
  EXPECT_THAT(TextOfFailure(), HasSubstr("internal error, owned.empty() does not hold: is destroyed on the way"));
}

TEST(CheckDeathTest, EndsTheProcessInADestructor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  struct Fails {
    ~Fails() { CHECK(false) << "in a destructor"; }
  };
  const Handler handler(Throw);
  EXPECT_DEATH(Fails(), "in a destructor");
}

}  // namespace
}  // namespace lathe
