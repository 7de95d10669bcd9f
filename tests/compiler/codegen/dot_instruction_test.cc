// Instructions that multiply neighbours and add them up: the processor, what stands for them without it, and the
// interpreter give the same bits; and code for a processor that has one holds it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "compiler/interpreter/interpreter.h"
#include "compiler/lower.h"
#include "compiler/script/parser.h"
#include "support/random.h"
#include "tests/compiler/codegen/loaded_kernels.h"

namespace lathe {
namespace {

struct DotCase {
  const char *name, *target, *mnemonic;
  const char *element_a, *element_b, *sum;  // Of the buffers.
  int lanes, parts;                         // Of the sum; neighbours for each.
  const char *argument, *function;
};
const char kX86[] = "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids -num-cores=1",
           kArm[] = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -num-cores=1";
const DotCase kCases[] = {
    {"VnniOf512", kX86, "vpdpbusd", "uint8", "int8", "int32", 16, 4, "int32x16", "llvm.x86.avx512.vpdpbusd.512"},
    {"VnniOf256", kX86, "vpdpbusd", "uint8", "int8", "int32", 8, 4, "int32x8", "llvm.x86.avx512.vpdpbusd.256"},
    {"VnniOfWords", kX86, "vpdpwssd", "int16", "int16", "int32", 16, 2, "int32x16", "llvm.x86.avx512.vpdpwssd.512"},
    {"Bf16", kX86, "vdpbf16ps", "bfloat16", "bfloat16", "float32", 16, 2, "bfloat16x32",
     "llvm.x86.avx512bf16.dpbf16ps.512"},
    {"Sdot", kArm, "sdot", "int8", "int8", "int32", 4, 4, "int8x16", "llvm.aarch64.neon.sdot"},
    {"SdotByItsWholeName", kArm, "sdot", "int8", "int8", "int32", 4, 4, "int8x16",
     "llvm.aarch64.neon.sdot.v4i32.v16i8"},
    {"Udot", kArm, "udot", "uint8", "uint8", "int32", 4, 4, "uint8x16", "llvm.aarch64.neon.udot"},
};

// C[i] += the products of A's and B's neighbours.
PrimFunc ProgramOf(const DotCase& c) {
  const int length = c.lanes * c.parts;
  const auto argument = [&](const char* buffer, const char* element) {
    return fmt::format("T.reinterpret(\"{}\", {}[T.Ramp(0, 1, {})])", c.argument, buffer, length);
  };
  const std::string text = fmt::format(R"(
@T.prim_func
def main(A: T.Buffer(({0},), "{1}"), B: T.Buffer(({0},), "{2}"), C: T.Buffer(({3},), "{4}")):
    C[T.Ramp(0, 1, {3})] = T.call_llvm_pure_intrin("{4}x{3}", "{5}", C[T.Ramp(0, 1, {3})], {6}, {7})
)",
                                       length, c.element_a, c.element_b, c.lanes, c.sum, c.function,
                                       argument("A", c.element_a), argument("B", c.element_b));
  return *ParsePrimFunc(text, "case.py");
}

// Bytes of any value; numbers of two bytes and of floats are small ones.
std::vector<Tensor> RandomTensors(const PrimFunc& func, Random& random) {
  std::vector<Tensor> tensors;
  for (const Param& param : ParamsOf(func)) {
    const Buffer& buffer = std::get<Buffer>(param);
    Tensor tensor = Tensor::Zeros(buffer->dtype, *ConstantShape(buffer->shape));
    std::vector<int64_t> values(tensor.NumElements());
    for (int64_t& value : values)
      value = static_cast<int64_t>(random.Below(256)) - (buffer->dtype == DataType::UInt(8) ? 0 : 128);
    tensors.push_back(Tensor::FromInts(buffer->dtype, tensor.shape, values));
  }
  return tensors;
}

std::vector<std::string> RunKernel(const PrimFunc& func, const Target& target, const std::vector<Tensor>& tensors) {
  const PrimFunc lowered = *Lower(func);
  const StatusOr<LoadedKernels> kernels = LoadedKernels::Make({&lowered, 1}, target);
  EXPECT_TRUE(kernels.ok()) << kernels.status().ToString();
  std::vector<AlignedArray<char>> memory;
  std::vector<void*> buffers;
  for (const Tensor& tensor : tensors) {
    memory.emplace_back(tensor.data.size());
    std::memcpy(memory.back().data(), tensor.data.data(), tensor.data.size());
    buffers.push_back(memory.back().data());
  }
  TestContext context;
  EXPECT_EQ(kernels->Find(0, "main")(&context.context, buffers.data(), nullptr), 0) << context.failure;
  std::vector<std::string> results;
  for (AlignedArray<char>& array : memory) results.emplace_back(array.begin(), array.end());
  return results;
}

class DotInstructionTest : public testing::TestWithParam<DotCase> {};
TEST_P(DotInstructionTest, ComputesTheSameEverywhere) {
  const PrimFunc func = ProgramOf(GetParam());
  Random random(7);
  for (int run = 0; run < 20; ++run) {
    const std::vector<Tensor> before = RandomTensors(func, random);
    std::vector<Tensor> expected = before;
    ASSERT_EQ(Interpret(func, expected), OkStatus());
    for (const char* target : {"auto", "llvm -mcpu=x86-64"}) {
      if (std::string_view(target) != "auto" && DetectHost().triple != "x86_64-linux-gnu") continue;
      const std::vector<std::string> actual = RunKernel(func, *Target::Parse(target), before);
      const std::string_view sums(reinterpret_cast<const char*>(expected[2].data.data()), expected[2].data.size());
      EXPECT_EQ(actual[2], sums) << target;
    }
  }
}
TEST_P(DotInstructionTest, IsInTheCode) {
  const PrimFunc func = *Lower(ProgramOf(GetParam()));
  const StatusOr<std::string> code = PrintCode({&func, 1}, *Target::Parse(GetParam().target), CodeText::kAssembly);
  ASSERT_TRUE(code.ok()) << code.status().ToString();
  EXPECT_THAT(*code, testing::HasSubstr(GetParam().mnemonic));
}
INSTANTIATE_TEST_SUITE_P(All, DotInstructionTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(DotInstruction, SaturatesWhereTheProcessorDoes) {
  const PrimFunc func = *ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((64,), "uint8"), B: T.Buffer((64,), "int8"), C: T.Buffer((16,), "int32")):
    C[T.Ramp(0, 1, 16)] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.pmaddw.d.512",
        T.call_llvm_pure_intrin("int16x32", "llvm.x86.avx512.pmaddubs.w.512", A[T.Ramp(0, 1, 64)], B[T.Ramp(0, 1, 64)]),
        T.Broadcast(T.int16(1), 32))
)",
                                       "case.py");
  std::vector<Tensor> tensors = {Tensor::FromInts(DataType::UInt(8), {64}, std::vector<int64_t>(64, 255)),
                                 Tensor::FromInts(DataType::Int(8), {64}, std::vector<int64_t>(64, 127)),
                                 Tensor::Zeros(DataType::Int(32), {16})};
  const std::vector<std::string> actual = RunKernel(func, *Target::Parse("auto"), tensors);
  ASSERT_EQ(Interpret(func, tensors), OkStatus());
  EXPECT_EQ(tensors[2].ToDoubles()[0], 2 * 32767);
  int32_t first;
  std::memcpy(&first, actual[2].data(), sizeof(first));
  EXPECT_EQ(first, 2 * 32767);
}

}  // namespace
}  // namespace lathe
