#include "compiler/relax/slices.h"

#include <gmock/gmock.h>

#include "compiler/relax/op.h"
#include "tests/compiler/relax/float_tensors.h"

namespace lathe::relax {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Var Tensor(const std::vector<int64_t>& shape) { return Var("x", F32(shape)); }

AttrMap AttrsOf(const StatusOr<Expr>& call) {
  EXPECT_TRUE(call.ok()) << call.status().ToString();
  return SliceAttrs(*call->As<Call>(), call->struct_info());
}
std::vector<int64_t> JoinedAt(const std::vector<std::vector<int64_t>>& shapes, int64_t axis) {
  std::vector<Expr> tensors;
  for (const std::vector<int64_t>& shape : shapes) tensors.push_back(Tensor(shape));
  return IntsAttr(AttrsOf(MakeCall("concat", {MakeTuple(tensors)}, {{"axis", axis}})), kJoinedAtAttr);
}

TEST(SliceAttrs, SayWhereAConcatenationHasItsInputs) {
  EXPECT_THAT(JoinedAt({{1, 2, 3}, {1, 4, 3}, {1, 1, 3}}, 1), ElementsAre(0, 24, 72));
  EXPECT_THAT(JoinedAt({{2, 3}, {4, 3}}, 0), ElementsAre(0, 24));
  EXPECT_THAT(JoinedAt({{1, 1, 5}, {1, 1, 2}}, -1), ElementsAre(0, 20));
  EXPECT_THAT(JoinedAt({{2, 2, 3}, {2, 4, 3}}, 1), IsEmpty());
}

TEST(SliceAttrs, SayNothingOfSymbolicExtents) {
  const lathe::Var n("n");
  const Var x("x", MakeTensorInfo(PrimShape{PrimExpr(1), n}, kF32));
  EXPECT_THAT(AttrsOf(MakeCall("concat", {MakeTuple({x, x})}, {{"axis", 1}})), IsEmpty());
}

struct CutCase {
  const char* name;
  std::vector<int64_t> shape, axes, begin, end, strides;
  int64_t cut_at;  // In bytes; -1: the elements are no neighbours.
};
class CutTest : public testing::TestWithParam<CutCase> {};
TEST_P(CutTest, BeginsWhereItsElementsLieTogether) {
  const CutCase& row = GetParam();
  const AttrMap attrs = AttrsOf(MakeCall("strided_slice", {Tensor(row.shape)},
                                         {{"axes", MakeIntsAttr(row.axes)},
                                          {"begin", MakeIntsAttr(row.begin)},
                                          {"end", MakeIntsAttr(row.end)},
                                          {"strides", MakeIntsAttr(row.strides)}}));
  EXPECT_EQ(IntAttr(attrs, kCutAtAttr, -1), row.cut_at);
}
INSTANTIATE_TEST_SUITE_P(Cuts, CutTest,
                         testing::Values(CutCase{"Channels", {1, 4, 5}, {1}, {2}, {4}, {1}, 40},
                                         CutCase{"Rows", {4, 5}, {-2}, {1}, {2}, {1}, 20},
                                         CutCase{
                                             "OneChannelOfOneImage", {3, 4, 5}, {0, 1}, {2, 1}, {3, 2}, {1, 1}, 180},
                                         CutCase{"PartOfOneRow", {4, 5}, {0, 1}, {1, 2}, {2, 4}, {1, 1}, 28},
                                         CutCase{"AStepOfOneElement", {4, 5}, {0}, {1}, {4}, {3}, 20},
                                         CutCase{"AllOfIt", {4, 5}, {1}, {0}, {5}, {1}, 0},
                                         CutCase{"ChannelsOfTwoImages", {2, 4, 5}, {1}, {2}, {4}, {1}, -1},
                                         CutCase{"Columns", {4, 5}, {1}, {2}, {4}, {1}, -1},
                                         CutCase{"EveryOther", {4, 5}, {0}, {0}, {4}, {2}, -1},
                                         CutCase{"Backwards", {4, 5}, {0}, {3}, {-1}, {-1}, -1}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe::relax
