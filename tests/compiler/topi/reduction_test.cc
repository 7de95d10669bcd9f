#include "compiler/topi/reduction.h"

#include <limits>

#include "tests/compiler/topi/reference.h"

namespace lathe::topi {
namespace {

using testing::HasSubstr;

// Combines x over its middle dimension.
Array OverMiddle(const Array& x, double start, const std::function<double(double, double)>& combine) {
  return Fill({x.shape[0], x.shape[2]}, [&](const Index& at) {
    double result = start;
    for (int64_t k = 0; k < x.shape[1]; ++k) result = combine(result, x[{at[0], k, at[1]}]);
    return result;
  });
}

TEST(ReduceAlong, CombinesOneAxis) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Given x = Input(SmallIntegers({2, 5, 3}, 1), "x");
  const auto run = [&](te::Combiner combiner) {
    return ResultOf(ReduceAlong("op", combiner, x.tensor, {1}, false), {x});
  };
  ExpectNear(run(te::Combiner::kSum), OverMiddle(x.array, 0, [](double a, double b) { return a + b; }));
  ExpectNear(run(te::Combiner::kProd), OverMiddle(x.array, 1, [](double a, double b) { return a * b; }));
  ExpectNear(run(te::Combiner::kMax), OverMiddle(x.array, -kInf, [](double a, double b) { return std::max(a, b); }));
  ExpectNear(run(te::Combiner::kMin), OverMiddle(x.array, kInf, [](double a, double b) { return std::min(a, b); }));
}

TEST(ReduceAlong, KeepsDimensionsOrReducesAll) {
  const Given x = Input(SmallIntegers({2, 5, 3}, 2), "x");
  double sum = 0;
  for (const double value : x.array.values) sum += value;
  ExpectNear(ResultOf(ReduceAlong("sum", te::Combiner::kSum, x.tensor, {0, 1, 2}, false), {x}),
             Fill({}, [&](const Index&) { return sum; }));
  const Array kept = ResultOf(ReduceAlong("sum", te::Combiner::kSum, x.tensor, {-1, 0}, true), {x});
  EXPECT_EQ(kept.shape, (Index{1, 5, 1}));
  double first = 0;
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t k = 0; k < 3; ++k) first += x.array[{i, 0, k}];
  EXPECT_EQ(kept.values[0], first);
}

TEST(ReduceAlong, KeepsElementsWhereThereAreNoAxes) {
  const Given x = Input(SmallIntegers({2, 5}, 2), "x");
  for (const te::Combiner combiner : {te::Combiner::kSum, te::Combiner::kProd, te::Combiner::kMax, te::Combiner::kMin})
    ExpectNear(ResultOf(ReduceAlong("op", combiner, x.tensor, {}, false), {x}), x.array);
  ExpectNear(ResultOf(ArgReduce("argmax", true, x.tensor, {}, false, false), {x}),
             Fill({2, 5}, [](const Index&) { return 0; }));
}

TEST(ReduceAlong, AsksBools) {
  const Given x = Input(Fill({3, 2, 1}, [](const Index& at) { return at[0] == 2 || at[1] == 0 ? 1.0 : 0.0; }), "x",
                        DataType::Bool());
  ExpectNear(ResultOf(ReduceAlong("all", te::Combiner::kAll, x.tensor, {1}, false), {x}),
             Fill({3, 1}, [](const Index& at) { return at[0] == 2; }));
  ExpectNear(ResultOf(ReduceAlong("any", te::Combiner::kAny, x.tensor, {0}, false), {x}),
             Fill({2, 1}, [](const Index&) { return 1; }));
  EXPECT_THAT(ReduceAlong("sum", te::Combiner::kSum, x.tensor, {0}, false).status().message(), HasSubstr("bool"));
}

TEST(ReduceAlong, RefusesAxesThatAreNotThere) {
  const Given x = Input(SmallIntegers({2, 5}, 2), "x");
  EXPECT_THAT(ReduceAlong("sum", te::Combiner::kSum, x.tensor, {2}, false).status().message(),
              HasSubstr("topi.sum: axis 2 is outside of the 2 dimensions"));
}

TEST(ArgReduce, FindsTheFirstOrLastOfEqualOnes) {
  const Given x = Input(SmallIntegers({4, 20}, 3), "x");  // Nine values: every row has equal ones.
  for (const bool is_max : {true, false}) {
    for (const bool takes_last : {false, true}) {
      const Array expected = Fill({4}, [&](const Index& at) {
        int64_t best = 0;
        for (int64_t k = 1; k < 20; ++k) {
          const double now = x.array[{at[0], k}], old = x.array[{at[0], best}];
          if ((is_max ? now > old : now < old) || (takes_last && now == old)) best = k;
        }
        return static_cast<double>(best);
      });
      ExpectNear(ResultOf(ArgReduce("argmax", is_max, x.tensor, {1}, false, takes_last), {x}), expected);
    }
  }
}

TEST(ArgReduce, CountsInRowMajorOrderOverAllAxes) {
  const Given x = Input(Fill({3, 4}, [](const Index& at) { return at == Index{1, 2} ? 9.0 : 0.0; }), "x");
  ExpectNear(ResultOf(ArgReduce("argmax", true, x.tensor, {0, 1}, false, false), {x}),
             Fill({}, [](const Index&) { return 6; }));
}

}  // namespace
}  // namespace lathe::topi
