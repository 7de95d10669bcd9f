#include "support/status.h"

#include <gmock/gmock.h>

#include "support/status_macros.h"

namespace lathe {
namespace {

class Excerpt : public StatusDetail {
 public:
  explicit Excerpt(int& renders) : renders_(renders) {}
  std::string Render() const override {
    ++renders_;
    return "for i in range(4)";
  }

 private:
  int& renders_;
};

TEST(Status, RendersItsDetailOnlyWhenAsked) {
  int renders = 0;
  const Status status(StatusCode::kInvalidArgument, "split: bad factor", std::make_shared<Excerpt>(renders));
  EXPECT_EQ(status.WithContext("replay").message(), "replay: split: bad factor");
  EXPECT_EQ(renders, 0);
  EXPECT_EQ(status.ToString(), "INVALID_ARGUMENT: split: bad factor\nfor i in range(4)");
  EXPECT_EQ(renders, 1);
}

StatusOr<int> Half(int x) {
  if (x % 2 != 0) return InvalidArgument("half: odd");
  return x / 2;
}
StatusOr<int> Quarter(int x) {
  ASSIGN_OR_RETURN(const int half, Half(x));
  return Half(half);
}

TEST(StatusOr, PassesTheFirstFailureUp) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "half: odd");
}

TEST(StatusOrDeathTest, ReadingAFailureEndsTheProcess) { EXPECT_DEATH(*Half(1), "half: odd"); }

}  // namespace
}  // namespace lathe
