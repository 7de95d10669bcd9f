#include "runner/compare.h"

#include <gmock/gmock.h>

#include <cmath>

#include "runner/guarded_buffer.h"

namespace lathe {
namespace {

using testing::HasSubstr;

NDArray Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  NDArray array = *NDArray::Create(kFloat32, std::move(shape));
  std::copy(values.begin(), values.end(), array.as<float>().begin());
  return array;
}

TEST(CompareOutput, SaysWhereAndByHowMuch) {
  const NDArray got = Floats({2, 3}, {1, 2, 3, 4, 5.5, 6.25});
  const std::vector<double> expected = {1, 2, 3, 4, 5, 6};
  const CompareResult result = CompareOutput("C", got.view(), expected, 1e-3);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.message,
            "check \"C\": element 4 at [1, 1] is 5.5, expected 5, tolerance 0.001; 2 of 6 elements are wrong, largest "
            "error 0.5");
  EXPECT_TRUE(CompareOutput("C", got.view(), expected, 0.5).ok);
}

TEST(CompareOutput, TellsNanFromNumbersAndAcceptsTheSameInfinity) {
  const float inf = INFINITY;
  const NDArray got = Floats({3}, {NAN, inf, 1});
  EXPECT_TRUE(CompareOutput("C", got.view(), std::vector<double>{NAN, inf, 1}, 0).ok);
  EXPECT_THAT(CompareOutput("C", got.view(), std::vector<double>{1, inf, 1}, 9).message,
              HasSubstr("element 0 at [0] is nan, expected 1"));
  EXPECT_FALSE(CompareOutput("C", got.view(), std::vector<double>{NAN, -inf, 1}, 9).ok);
}

TEST(CompareOutput, RefusesAReferenceThatProvesNothing) {
  const NDArray got = Floats({2}, {NAN, NAN});
  EXPECT_THAT(CompareOutput("C", got.view(), std::vector<double>{NAN, NAN}, 1).message, HasSubstr("proves nothing"));
  EXPECT_THAT(CompareOutput("C", got.view(), std::vector<double>{1}, 1).message,
              HasSubstr("1 elements, the output has 2"));
}

TEST(CompareOutput, AllowsForTheRoundingOfWhatIsStored) {
  NDArray got = *NDArray::Create(kBFloat16, {2});
  got.as<uint16_t>()[0] = 0x4049;  // 3.140625, the nearest to pi.
  got.as<uint16_t>()[1] = 0x404b;  // 3.171875, two steps further.
  const std::vector<double> expected = {3.14159265, 3.14159265};
  EXPECT_EQ(CompareOutput("C", got.view(), expected, 0).message,
            "check \"C\": element 1 at [1] is 3.171875, expected 3.14159265, tolerance 0.0245; 1 of 2 elements are "
            "wrong, largest error 0.0303");
}

TEST(GuardedBuffer, NoticesBytesBesideTheBuffer) {
  GuardedBuffer buffer = *GuardedBuffer::Create(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
  EXPECT_EQ(buffer.FindDamage(), "");
  auto* bytes = static_cast<volatile char*>(buffer.data());
  bytes[102] = 1;
  EXPECT_EQ(buffer.FindDamage(), "wrote up to 3 bytes past its end");
  bytes[102] = static_cast<char>(0xC5);
  bytes[-2] = 1;
  EXPECT_EQ(buffer.FindDamage(), "wrote up to 2 bytes before its begin");
}

TEST(GuardedBufferDeathTest, FaultsBehindItsLastLine) {
  GuardedBuffer buffer = *GuardedBuffer::Create(4096);
  EXPECT_DEATH(static_cast<volatile char*>(buffer.data())[4096] = 1, "");
}

}  // namespace
}  // namespace lathe
