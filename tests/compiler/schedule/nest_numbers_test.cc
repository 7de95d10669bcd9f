// What numbers say of random nests, against what their iterations do one by one.
#include "compiler/schedule/nest_numbers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <set>

#include "compiler/ir/integer.h"
#include "compiler/schedule/schedule.h"
#include "compiler/script/parser.h"
#include "support/random.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using Point = std::vector<int64_t>;
using Env = std::map<const ExprNode*, int64_t>;

// Of sums, products, quotients and remainders of what `env` knows.
int64_t ValueOf(const Expr& e, const Env& env) {
  if (const int64_t* value = AsIntConst(e)) return *value;
  if (IsVar(e)) return env.at(e.get());
  const Binary& op = *e.As<Binary>();
  const int64_t a = ValueOf(op.a, env), b = ValueOf(op.b, env);
  switch (op.op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kFloorDiv:
      return FloorDivide(a, b);
    default:
      return FloorModulo(a, b);
  }
}

struct RandomNest {
  std::string text;
  std::vector<int64_t> extents;
};

template <typename T>
T OneOf(Random& random, std::vector<T> items) {
  return items[random.Below(items.size())];
}

// Some digit of a loop, times something.
std::string DigitOf(Random& random, uint64_t num_loops) {
  const int64_t lower = OneOf<int64_t>(random, {1, 1, 2, 3, 4}), upper = OneOf<int64_t>(random, {0, 0, 2, 4, 6});
  std::string text = fmt::format("i{}", random.Below(num_loops));
  if (upper != 0) text = fmt::format("({} % {})", text, upper);
  if (lower != 1) text = fmt::format("({} // {})", text, lower);
  return fmt::format("{} * {}", text, OneOf<int64_t>(random, {1, 1, 2, 3, 4, 6, 8, 12}));
}

struct Bound {
  std::string value;
  int64_t domain;
};
Bound AnyBinding(Random& random, const std::vector<int64_t>& extents) {
  std::string sum = DigitOf(random, extents.size());
  for (uint64_t i = random.Below(3); i > 0; --i) sum += " + " + DigitOf(random, extents.size());
  if (random.Below(3) == 0) sum += OneOf<std::string>(random, {" + 1", " - 1", " + 3"});
  return {sum, OneOf<int64_t>(random, {2, 4, 6, 8, 12, 16, 24, 64})};
}
// All loops but the last, and a part of the last.
std::pair<Bound, Bound> WholeBindings(Random& random, const std::vector<int64_t>& extents) {
  const size_t last = extents.size() - 1;
  Bound rest{"0", 1};
  for (size_t i = 0; i < last; ++i)
    rest = {fmt::format("({}) * {} + i{}", rest.value, extents[i], i), rest.domain * extents[i]};
  int64_t divisor = OneOf<int64_t>(random, {1, 2, 3, 4});
  if (extents[last] % divisor != 0) divisor = 1;
  return {rest, {fmt::format("i{} // {}", last, divisor), extents[last] / divisor}};
}

// One to four loops around a block of two iter vars that stores to a place of A made from them.
RandomNest MakeNest(Random& random) {
  RandomNest nest;
  const uint64_t num_loops = 1 + random.Below(4);
  std::string loops;
  for (uint64_t i = 0; i < num_loops; ++i) {
    nest.extents.push_back(OneOf<int64_t>(random, {1, 2, 3, 4, 6, 8}));
    loops += fmt::format("{}for i{} in range({}):\n", std::string(4 + 4 * i, ' '), i, nest.extents.back());
  }
  Bound v = AnyBinding(random, nest.extents), w = AnyBinding(random, nest.extents);
  if (random.Below(2) == 0) std::tie(v, w) = WholeBindings(random, nest.extents);
  const std::string margin(4 + 4 * num_loops, ' ');
  const std::string kind = OneOf<std::string>(random, {"spatial", "spatial", "reduce"});
  const std::string first = OneOf<std::string>(random, {"v", "v", "v * 2 + w", "v + 1", "v * 4"});
  const std::string second = OneOf<std::string>(random, {"w", "w", "v + w", "w - 1", "w * 3"});
  nest.text = fmt::format(
      "@T.prim_func\ndef main(A: T.Buffer((512, 512))):\n{0}{1}with T.block(\"b\"):\n"
      "{1}    v = T.axis.{2}({3}, {4})\n{1}    w = T.axis.spatial({5}, {6})\n"
      "{1}    T.reads()\n{1}    T.writes(A[{7}:{7} + {9}, {8}])\n{1}    A[{7}, {8}] = T.float32(1)\n",
      loops, margin, kind, v.domain, v.value, w.domain, w.value, first, second, OneOf<int64_t>(random, {1, 1, 2}));
  return nest;
}

// All iterations of the nest, in order: the loops' values, and those of the block's iter vars.
class Iterations {
 public:
  Iterations(const Schedule& schedule, int block, std::vector<int64_t> extents)
      : schedule_(schedule), block_(block), extents_(std::move(extents)), loops_(schedule.LoopsOf(block)) {
    Point at;
    Visit(at);
  }
  const std::vector<std::pair<Point, Env>>& all() const { return all_; }

 private:
  void Visit(Point& at) {
    if (at.size() < extents_.size()) {
      for (int64_t i = 0; i < extents_[at.size()]; ++i) {
        at.push_back(i);
        Visit(at);
        at.pop_back();
      }
      return;
    }
    Env loops, iters;
    for (size_t i = 0; i < at.size(); ++i) loops[schedule_.LoopOf(loops_[i]).loop_var.get()] = at[i];
    const BlockRealize& realize = schedule_.RealizeOf(block_);
    for (size_t i = 0; i < realize.iter_values.size(); ++i)
      iters[realize.block->iter_vars[i].var.get()] = ValueOf(realize.iter_values[i], loops);
    all_.emplace_back(at, std::move(iters));
  }

  const Schedule& schedule_;
  const int block_;
  const std::vector<int64_t> extents_;
  const std::vector<int> loops_;
  std::vector<std::pair<Point, Env>> all_;
};

// Each point with one more coordinate, from `first` on.
std::set<Point> Extended(const std::set<Point>& points, int64_t first, int64_t length) {
  std::set<Point> longer;
  for (const Point& point : points)
    for (int64_t i = 0; i < length; ++i) {
      Point next = point;
      next.push_back(first + i);
      longer.insert(std::move(next));
    }
  return longer;
}
std::set<Point> ElementsOf(const BufferRegion& region, const Env& env) {
  std::set<Point> points{{}};
  for (const Range& range : region.region)
    points = Extended(points, ValueOf(range.min, env), ValueOf(range.extent, env));
  return points;
}
int64_t ValueOf(const DigitSum& sum, const Point& loops) {
  int64_t value = sum.base;
  for (const Digit& digit : sum.digits) value += loops[digit.depth] / digit.lower % digit.extent * digit.scale;
  return value;
}
std::set<Point> ElementsOf(const DigitBox& box, const Point& loops) {
  std::set<Point> points{{}};
  for (const DigitRange& range : box) points = Extended(points, ValueOf(range.first, loops), range.length);
  return points;
}

Point Outer(const Point& loops, size_t depth) { return Point(loops.begin(), loops.begin() + std::ptrdiff_t(depth)); }

bool Intersect(const std::set<Point>& a, const std::set<Point>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Point& point) { return b.count(point) != 0; });
}

// How often the numbers knew an answer, by question.
using Counts = std::map<std::string, int>;

void CheckApart(const NestNumbers& nest, const BlockNode& node, const Iterations& iterations, size_t depth,
                Counts& counts) {
  if (!nest.TellsApart(node, node.writes[0], int(depth))) return;
  ++counts["apart"];
  std::map<Point, std::set<Point>> touched;  // By the loops down to this one.
  for (const auto& [loops, env] : iterations.all())
    touched[Outer(loops, depth + 1)].merge(ElementsOf(node.writes[0], env));
  for (const auto& [a, first] : touched)
    for (const auto& [b, second] : touched)
      if (a < b && Outer(a, depth) == Outer(b, depth)) {
        ASSERT_FALSE(Intersect(first, second)) << "loop " << depth;
      }
}

Point ValuesOf(const BlockNode& node, const Env& env) {
  Point values;
  for (const IterVar& iter : node.iter_vars) values.push_back(env.at(iter.var.get()));
  return values;
}

void CheckOnce(const NestNumbers& nest, const BlockNode& node, const Iterations& iterations, size_t depth,
               Counts& counts) {
  if (!nest.CountsEachOnce(int(depth))) return;
  ++counts["once"];
  std::map<Point, std::set<Point>> seen;
  for (const auto& [loops, env] : iterations.all()) {
    ASSERT_TRUE(seen[Outer(loops, depth)].insert(ValuesOf(node, env)).second) << "below loop " << depth;
  }
}

void CheckBoxes(const NestNumbers& nest, const BlockNode& node, const Iterations& iterations, size_t depth,
                Counts& counts) {
  const BufferStore& store = *node.body.As<BufferStore>();
  const std::optional<DigitBox> most = nest.TouchedAtMost(node, node.writes[0], int(depth)),
                                certain = nest.TouchedForCertain(node, store.indices, int(depth));
  counts["most"] += most.has_value();
  counts["certain"] += certain.has_value();
  std::map<Point, std::set<Point>> declared, stored;
  for (const auto& [loops, env] : iterations.all()) {
    declared[Outer(loops, depth)].merge(ElementsOf(node.writes[0], env));
    stored[Outer(loops, depth)].insert({ValueOf(store.indices[0], env), ValueOf(store.indices[1], env)});
  }
  for (const auto& [outer, points] : declared) {
    const std::set<Point> box = most ? ElementsOf(*most, outer) : points;
    ASSERT_TRUE(std::includes(box.begin(), box.end(), points.begin(), points.end())) << "below loop " << depth;
  }
  for (const auto& [outer, points] : stored)
    if (certain) {
      ASSERT_EQ(ElementsOf(*certain, outer), points) << "below loop " << depth;
    }
}

void CheckDomains(const NestNumbers& nest, const BlockNode& node, const Iterations& iterations, Counts& counts) {
  if (!nest.RunsOverDomains(node, /*only_reduce=*/false, /*once=*/false)) return;
  ++counts["domains"];
  std::set<Point> seen, all{{}};
  for (const IterVar& iter : node.iter_vars) all = Extended(all, 0, *AsIntConst(iter.domain.extent));
  for (const auto& [loops, env] : iterations.all()) seen.insert(ValuesOf(node, env));
  ASSERT_EQ(seen, all);
}

TEST(NestNumbersTest, SaysWhatTheIterationsDo) {
  constexpr int kRuns = 800;
  Counts counts;
  for (int seed = 0; seed < PropertyRuns(kRuns); ++seed) {
    Random random{uint64_t(seed)};
    const RandomNest made = MakeNest(random);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, made.text));
    StatusOr<PrimFunc> func = ParsePrimFunc(made.text, "nest.py");
    ASSERT_TRUE(func.ok()) << func.status().ToString();
    StatusOr<Schedule> schedule = Schedule::Create(*std::move(func));
    ASSERT_TRUE(schedule.ok());
    const int block = schedule->FindBlock("b");
    const NestNumbers* nest = schedule->Numbers(block);
    ASSERT_NE(nest, nullptr);
    const BlockNode& node = schedule->BlockOf(block);
    const Iterations iterations(*schedule, block, made.extents);
    for (size_t depth = 0; depth < made.extents.size(); ++depth) {
      CheckApart(*nest, node, iterations, depth, counts);
      CheckOnce(*nest, node, iterations, depth, counts);
      CheckBoxes(*nest, node, iterations, depth, counts);
    }
    CheckDomains(*nest, node, iterations, counts);
    if (HasFatalFailure()) return;
  }
  if (AllRuns(kRuns)) {
    for (const char* question : {"apart", "once", "most", "certain", "domains"})
      EXPECT_GT(counts[question], 20) << question;
  }
}

}  // namespace
}  // namespace lathe
