#include "compiler/stage/stage_schedule.h"

#include <gmock/gmock.h>

#include "compiler/te/reduction.h"
#include "tests/compiler/te/te_programs.h"

namespace lathe::te {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr DataType kFloat = DataType::Float(32);

// C = A * B, D = C + 1; 20 x 12 x 10.
struct Program {
  Tensor a = Placeholder({20, 10}, kFloat, "A"), b = Placeholder({10, 12}, kFloat, "B");
  IterVar k = ReduceAxis({0, 10}, "k");
  Tensor c = Compute({20, 12},
                     [this](const std::vector<Expr>& at) {
                       return ReduceOver(Combiner::kSum, a({at[0], k.var}) * b({k.var, at[1]}), {k});
                     },
                     {.name = "C", .tag = "", .attrs = {}, .axis_names = {"i", "j"}});
  Tensor d = Compute({20, 12}, [this](const std::vector<Expr>& at) { return c(at) + Expr(1); },
                     {.name = "D", .tag = "", .attrs = {}, .axis_names = {"i", "j"}});
  std::unique_ptr<StageSchedule> schedule = StageSchedule::Create({d.op()}).value();

  Stage& C() { return *schedule->Find(c.op()); }
  Stage& D() { return *schedule->Find(d.op()); }
  IterVar Axis(const Tensor& tensor, size_t i) const { return tensor.op()->As<ComputeOp>()->axis[i]; }
  StatusOr<PrimFunc> Lower() const { return schedule->Lower({a, b, d}); }
};

std::vector<double> Numbers(size_t count, int step) {
  std::vector<double> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(static_cast<int>(i * step) % 7 - 3);
  return numbers;
}

// The scheduled function computes what the plain loops compute, and its text holds `part`.
void ExpectSameResult(const Program& program, const std::string& part) {
  const StatusOr<PrimFunc> func = program.Lower();
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  EXPECT_THAT(Print(*func), HasSubstr(part));
  const std::vector<double> a = Numbers(200, 3), b = Numbers(120, 5);
  std::vector<double> expected;
  for (size_t i = 0; i < 20; ++i)
    for (size_t j = 0; j < 12; ++j) {
      double sum = 1;
      for (size_t k = 0; k < 10; ++k) sum += a[i * 10 + k] * b[k * 12 + j];
      expected.push_back(sum);
    }
  EXPECT_THAT(ResultOf(func, {lathe::Tensor::FromDoubles(kFloat, {20, 10}, a),
                              lathe::Tensor::FromDoubles(kFloat, {10, 12}, b)}),
              ElementsAreArray(expected));
}

TEST(StageSchedule, IsThePlainProgramWhenNothingIsSaid) {
  const Program program;
  const StatusOr<PrimFunc> plain = CreatePrimFunc({program.a, program.b, program.d});
  ASSERT_TRUE(plain.ok());
  EXPECT_TRUE(StructuralEqual(*program.Lower(), *plain)) << Print(*program.Lower());
  ExpectSameResult(program, "T.block(\"C\")");
}

TEST(StageSchedule, SplitsReordersAndMarksLoops) {
  Program p;
  const auto [io, ii] = p.C().Split(p.Axis(p.c, 0), 8).value();  // 8 does not divide 20.
  const auto [jo, ji] = p.C().Split(p.Axis(p.c, 1), std::nullopt, 3).value();
  ASSERT_TRUE(p.C().Reorder({io, jo, p.k, ii, ji}).ok());
  ASSERT_TRUE(p.C().SetKind(ji, IterKind::kVectorized).ok());
  ASSERT_TRUE(p.C().SetKind(ii, IterKind::kUnrolled).ok());
  ASSERT_TRUE(p.C().SetKind(io, IterKind::kParallelized).ok());
  EXPECT_EQ(p.C().leaf_iter_vars()[2].var.name(), "k");
  ExpectSameResult(p, "T.where(");
}

TEST(StageSchedule, NamesLoopsAsAxesAndStartsReductionsApartIfAsked) {
  Program p;
  const auto [io, ii] = p.C().Split(p.Axis(p.c, 0), 8).value();
  const auto [ko, ki] = p.C().Split(p.k, 5).value();
  ASSERT_TRUE(p.C().Reorder({io, ko, ii}).ok());
  const StatusOr<PrimFunc> func = p.schedule->Lower({p.a, p.b, p.d}, "main", {.starts_apart = true});
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  const std::string text = Print(*func);
  EXPECT_THAT(text, HasSubstr("for j_init, i_inner_init in T.grid(12, 8):"));
  EXPECT_THAT(text, HasSubstr("for k_outer, j, i_inner, k_inner in T.grid(2, 12, 8, 5):"));
  EXPECT_THAT(Print(*p.Lower()), HasSubstr("for i_outer, k_outer, j, i_inner, k_inner in T.grid(3, 2, 12, 8, 5):"));
}

TEST(StageSchedule, TilesAndFuses) {
  Program p;
  const std::vector<IterVar> tiled = p.D().Tile(p.Axis(p.d, 0), p.Axis(p.d, 1), 4, 6).value();
  const IterVar fused = p.D().Fuse({tiled[0], tiled[1]}).value();
  EXPECT_EQ(fused.var.name(), "i.outer.j.outer.fused");
  ASSERT_TRUE(p.D().SetKind(fused, IterKind::kParallelized).ok());
  ASSERT_TRUE(p.D().Pragma(fused, "auto_unroll_max_step", 16).ok());
  ExpectSameResult(p, "pragma_auto_unroll_max_step");
}

TEST(StageSchedule, PutsAProducerIntoALoopWhateverWasSaidFirst) {
  Program p;
  // The producer's own loops are split before it has a place: they are those inside of it.
  const auto [ko, ki] = p.C().Split(p.k, 5).value();
  const auto [io, ii] = p.D().Split(p.Axis(p.d, 0), 4).value();
  ASSERT_TRUE(p.C().ComputeAt(p.D(), io).ok());
  ASSERT_TRUE(p.C().Reorder({ko, p.Axis(p.c, 0), p.Axis(p.c, 1), ki}).ok());
  const StatusOr<PrimFunc> func = p.Lower();
  ASSERT_TRUE(func.ok()) << func.status().ToString();
  ExpectSameResult(p, "C");
  // Both blocks stand below one loop of 5.
  EXPECT_THAT(Print(*func), HasSubstr("in range(5):"));
  p.C().ComputeRoot();
  ExpectSameResult(p, "C");
}

IterVar Thread(const char* tag) {
  return {{IntConst(kIndexType, 0), IntConst(kIndexType, 0)}, Var(tag, kIndexType), IterKind::kThreadIndex, tag};
}

TEST(StageSchedule, GivesResultsTheMemoryOfTheThreadsAround) {
  Program p;
  const auto [block, thread] = p.D().Split(p.Axis(p.d, 0), 4).value();
  ASSERT_TRUE(p.D().Bind(block, Thread("blockIdx.x")).ok());
  ASSERT_TRUE(p.D().Bind(thread, Thread("threadIdx.x")).ok());
  ExpectSameResult(p, "C = T.alloc_buffer((20, 12), \"float32\")");
  ASSERT_TRUE(p.C().ComputeAt(p.D(), thread).ok());
  ExpectSameResult(p, "C = T.alloc_buffer((20, 12), \"float32\", scope=\"local\")");
  ASSERT_TRUE(p.C().ComputeAt(p.D(), block).ok());
  ASSERT_TRUE(p.C().Bind(p.Axis(p.c, 0), Thread("threadIdx.x")).ok());
  ExpectSameResult(p, "C = T.alloc_buffer((20, 12), \"float32\", scope=\"shared\")");
  p.C().SetScope("global");
  ExpectSameResult(p, "C = T.alloc_buffer((20, 12), \"float32\")");
}

TEST(StageSchedule, InlinesWhatIsNoReduction) {
  const Tensor a = Placeholder({4}, kFloat, "A");
  const Tensor b = Compute({4}, [&](const std::vector<Expr>& at) { return a(at) * Expr(2); }, {.name = "B"});
  const Tensor c = Compute({4}, [&](const std::vector<Expr>& at) { return b(at) + Expr(1); }, {.name = "C"});
  const std::unique_ptr<StageSchedule> schedule = StageSchedule::Create({c.op()}).value();
  ASSERT_TRUE(schedule->Find(b.op())->ComputeInline().ok());
  ExpectText(schedule->Lower({a, c}), R"(@T.prim_func
def main(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in range(4):
        with T.block("C"):
            v_i = T.axis.spatial(4, i)
            C[v_i] = A[v_i] * T.float32(2.0) + T.float32(1.0)
)");
  Program p;
  EXPECT_THAT(p.C().ComputeInline().message(), HasSubstr("stage \"C\": it is no compute without a reduction"));
}

TEST(StageSchedule, CachesWhatIsReadAndWhatIsWritten) {
  Program p;
  const Tensor cached = p.schedule->CacheRead(p.a, "local", {p.c.op()}).value();
  const Tensor local = p.schedule->CacheWrite({p.c}, "local").value()[0];
  EXPECT_EQ(cached.op()->name(), "A.local");
  Stage& compute = *p.schedule->Find(local.op());
  ASSERT_TRUE(compute.ComputeAt(p.C(), p.Axis(p.c, 0)).ok());
  ASSERT_TRUE(p.schedule->Find(cached.op())->ComputeAt(compute, local.op()->As<ComputeOp>()->axis[0]).ok());
  ExpectSameResult(p, "scope=\"local\"");
}

TEST(StageSchedule, RefusesAxesThatAreGone) {
  Program p;
  const IterVar i = p.Axis(p.c, 0);
  ASSERT_TRUE(p.C().Split(i, 4).ok());
  EXPECT_THAT(p.C().Split(i, 2).status().message(),
              HasSubstr("split, stage \"C\": axis \"i\" is none of its loops now"));
  EXPECT_THAT(p.C().Fuse({p.C().leaf_iter_vars()[0], p.k}).status().message(), HasSubstr("does not follow"));
  EXPECT_THAT(p.C().Split(p.k, 2, 5).status().message(), HasSubstr("either a factor or nparts"));
  EXPECT_THAT(p.C().Split(p.k, 0).status().message(), HasSubstr("at least 1"));
  EXPECT_THAT(p.schedule->CacheWrite({p.c}, "local").status().message(), HasSubstr("cache it before"));
  ExpectSameResult(p, "T.block(\"C\")");
}

TEST(StageSchedule, NamesTheStageOfAPrimitiveThatRefuses) {
  Program p;
  ASSERT_TRUE(p.C().SetKind(p.k, IterKind::kParallelized).ok());
  EXPECT_THAT(p.Lower().status().message(), HasSubstr("stage \"C\""));
}

}  // namespace
}  // namespace lathe::te
