// Matrix products that run on tensor cores: what the interpreter makes of the operations that schedules put in for
// tensor intrinsics (wmma fragments; ldmatrix and mma.sync) is what the plain loops compute.
#include <fmt/format.h>

#include "compiler/schedule/builtin_intrin.h"
#include "tests/compiler/schedule/soundness.h"

namespace lathe {
namespace {

struct Product {
  const char* name;
  const char *in_type, *out_type;
  int k;         // Of a tile; it has 16 rows and columns.
  bool trans_b;  // B has N rows.
  std::string scope_a, scope_b, scope_c;
  std::string fill, load_a, load_b, sync, store;
};
std::ostream& operator<<(std::ostream& os, const Product& product) { return os << product.name; }

std::string ProgramOf(const Product& product) {
  return fmt::format(R"(
@T.prim_func
def f(A: T.Buffer((32, {k}), "{in}"), B: T.Buffer(({b_rows}, {b_columns}), "{in}"), C: T.Buffer((32, 32), "{out}")):
    for i, j, k in T.grid(32, 32, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.{out}(0)
            C[vi, vj] = C[vi, vj] + T.Cast("{out}", A[vi, vk]) * T.Cast("{out}", B[{b_at}])
)",
                     fmt::arg("k", 2 * product.k), fmt::arg("in", product.in_type), fmt::arg("out", product.out_type),
                     fmt::arg("b_rows", product.trans_b ? 32 : 2 * product.k),
                     fmt::arg("b_columns", product.trans_b ? 2 * product.k : 32),
                     fmt::arg("b_at", product.trans_b ? "vj, vk" : "vk, vj"));
}

// Tiles of 16 x 16, one per block of threads; A and B by way of shared memory, which 32 threads fill.
std::string CopiesOf(const Product& product, const char* target) {
  std::string calls = fmt::format(R"(
b0 = sch.get_block(name="C", func_name="f")
l1, l2, l3 = sch.get_loops(block=b0)
l4, l5 = sch.split(loop=l1, factors=[None, 16])
l6, l7 = sch.split(loop=l2, factors=[None, 16])
l8, l9 = sch.split(loop=l3, factors=[None, {}])
sch.reorder(l4, l6, l8, l5, l7, l9)
sch.bind(loop=l4, thread_axis="blockIdx.x")
sch.bind(loop=l6, thread_axis="blockIdx.y")
)",
                                  product.k);
  if (std::string_view(target) == "b10") calls += "b10 = sch.blockize(target=l5)\n";
  calls += fmt::format("b11 = sch.cache_write(block={}, write_buffer_index=0, storage_scope=\"{}\")\n", target,
                       product.scope_c);
  calls += "sch.reverse_compute_at(block=b11, loop=l6)\n";
  for (const int index : {0, 1}) {
    calls += fmt::format(R"(
b{0}1 = sch.cache_read(block={1}, read_buffer_index={2}, storage_scope="shared")
b{0}2 = sch.cache_read(block={1}, read_buffer_index={2}, storage_scope="{3}")
sch.compute_at(block=b{0}2, loop=l8)
sch.compute_at(block=b{0}1, loop=l8)
l{0}3, l{0}4, l{0}5, l{0}6, l{0}7 = sch.get_loops(block=b{0}1)
l{0}8 = sch.fuse(l{0}6, l{0}7)
l{0}9, l{0}0 = sch.split(loop=l{0}8, factors=[None, 32])
sch.bind(loop=l{0}0, thread_axis="threadIdx.x")
)",
                         index + 2, target, index, index == 0 ? product.scope_a : product.scope_b);
  }
  return calls;
}

std::string Tensorized(const char* block, const std::string& intrin) {
  static int number = 100;
  const int n = number += 10;
  const int loops = std::string_view(block) == "b11" ? 4 : 5;
  std::string names;
  for (int i = 0; i < loops; ++i) names += fmt::format("{}l{}", i == 0 ? "" : ", ", n + i);
  return fmt::format("{} = sch.get_loops(block={})\nsch.tensorize(block_or_loop=l{}, tensor_intrin=\"{}\")\n", names,
                     block, n + loops - 2, intrin);
}

std::string WmmaCalls(const Product& product) {
  return CopiesOf(product, "b10") + "b50 = sch.decompose_reduction(block=b10, loop=l8)\n" +
         fmt::format("sch.tensorize(block_or_loop=b50, tensor_intrin=\"{}\")\n", product.fill) +
         Tensorized("b22", product.load_a) + Tensorized("b32", product.load_b) +
         fmt::format("sch.tensorize(block_or_loop=b10, tensor_intrin=\"{}\")\n", product.sync) +
         Tensorized("b11", product.store);
}

// Tiles of `rows` x `columns` become lanes and registers.
std::string InLanes(const char* block, const char* buffer, int rows, int columns, const char* lane_and_register) {
  return fmt::format(
      "sch.transform_layout(block={}, buffer=(\"{}\", 0), index_map=lambda i, j: (i // {}, j // {}, {}), "
      "pad_value=None, "
      "assume_injective_transform=False)\n",
      block, buffer, rows, columns, lane_and_register);
}
constexpr const char* kHalves = "i % 8 * 4 + j % 8 // 2, j % 16 // 8 * 4 + i % 16 // 8 * 2 + j % 2";
constexpr const char* kBytesInRows = "i % 8 * 4 + j % 16 // 4, j % 32 // 16 * 8 + i % 16 // 8 * 4 + j % 4";
constexpr const char* kBytesInColumns = "i % 16 // 4 + j % 8 * 4, j % 16 // 8 * 8 + i % 32 // 16 * 4 + i % 4";

std::string MmaCalls(const Product& product) {
  const bool is_half = product.k == 16;
  const char* const layout_b = is_half ? kHalves : product.trans_b ? kBytesInRows : kBytesInColumns;
  return CopiesOf(product, "b0") + InLanes("b22", "write", 16, product.k, is_half ? kHalves : kBytesInRows) +
         InLanes("b32", "write", product.trans_b ? 16 : product.k, product.trans_b ? product.k : 16, layout_b) +
         InLanes("b11", "read", 16, 16, kHalves) + "b50 = sch.decompose_reduction(block=b0, loop=l8)\n" +
         "l51, l52, l53, l54 = sch.get_loops(block=b50)\n" +
         fmt::format("sch.tensorize(block_or_loop=l53, tensor_intrin=\"{}\")\n", product.fill) +
         Tensorized("b22", product.load_a) + Tensorized("b32", product.load_b) +
         fmt::format("sch.tensorize(block_or_loop=l5, tensor_intrin=\"{}\")\n", product.sync) +
         Tensorized("b11", product.store);
}

class TensorCoreTest : public testing::TestWithParam<Product> {};
TEST_P(TensorCoreTest, ComputesWhatTheLoopsDo) {
  const Product& product = GetParam();
  const StatusOr<PrimFunc> before = ParsePrimFunc(ProgramOf(product), "product.py");
  ASSERT_TRUE(before.ok()) << before.status().ToString();
  const StatusOr<ScheduleTrace> trace =
      ScheduleTrace::FromPython(product.scope_c == "warp" ? MmaCalls(product) : WmmaCalls(product));
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  StatusOr<Schedule> schedule = Schedule::Create(*before);
  ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
  const Status status = ApplyStepByStep(*trace, *schedule);
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::vector<Tensor> expected = SmallIntegers(*before, 0, 7), actual = expected;
  ASSERT_EQ(Interpret(*before, expected, {.check_races = false}), OkStatus());
  ASSERT_EQ(Interpret(schedule->func(), actual, {.implies_barriers = true}), OkStatus()) << Print(schedule->func());
  EXPECT_TRUE(actual[2].data == expected[2].data) << Print(schedule->func());
}

std::vector<Product> Products() {
  const std::string a = "wmma.matrix_a", b = "wmma.matrix_b", c = "wmma.accumulator", w = "warp";
  return {
      {"WmmaOfHalves", "float16", "float32", 16, false, a, b, c, "wmma_fill_16x16x16_f32",
       "wmma_load_16x16x16_f16_a_shared", "wmma_load_16x16x16_f16_b_shared", "wmma_sync_16x16x16_f16f16f32",
       "wmma_store_16x16x16_f32_global"},
      {"WmmaOfBytesTransposed", "int8", "int32", 16, true, a, b, c, "wmma_fill_16x16x16_s32",
       "wmma_load_16x16x16_s8_a_shared", "wmma_load_16x16x16_s8_b_trans_shared", "wmma_sync_16x16x16_s8s8s32_trans",
       "wmma_store_16x16x16_s32_global"},
      {"MmaOfHalves", "float16", "float32", 16, false, w, w, w, "mma_fill_16x16_f32", "mma_ldmatrix_f16_a",
       "mma_ldmatrix_f16_b", "mma_f16f16f32", "mma_store_16x16_f32_global_"},
      {"MmaOfHalvesTransposed", "float16", "float32", 16, true, w, w, w, "mma_fill_16x16_f32", "mma_ldmatrix_f16_a",
       "mma_ldmatrix_f16_b_trans", "mma_f16f16f32_trans_b", "mma_store_16x16_f32_global_simple_"},
      {"MmaOfBytes", "int8", "int32", 32, false, w, w, w, "mma_fill_16x16_i32", "mma_ldmatrix_i8_a",
       "mma_ldmatrix_i8_b", "mma_i8i8i32", "mma_store_16x16_i32_global_"},
      {"MmaOfBytesTransposed", "int8", "int32", 32, true, w, w, w, "mma_fill_16x16_i32", "mma_ldmatrix_i8_a",
       "mma_ldmatrix_i8_b_trans", "mma_i8i8i32_trans_b", "mma_store_16x16_i32_global_"},
  };
}
INSTANTIATE_TEST_SUITE_P(Products, TensorCoreTest, testing::ValuesIn(Products()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(BuiltinIntrin, EachIsWellFormed) {
  for (const std::string_view name : BuiltinIntrinNames()) {
    const auto intrin = MakeBuiltinIntrin(name);
    ASSERT_TRUE(intrin.ok()) << name << ": " << intrin.status().ToString();
  }
}

}  // namespace
}  // namespace lathe
