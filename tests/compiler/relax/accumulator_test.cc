// Operators of 16-bit types add up in float32: a sum of ones in float16 stays at 2048, one in bfloat16 at 256.
#include <gmock/gmock.h>

#include "compiler/interpreter/interpreter.h"
#include "compiler/ir/workload_facts.h"
#include "compiler/relax/op.h"
#include "compiler/relax/tensor_data.h"

namespace lathe::relax {
namespace {

using testing::Each;

struct SumCase {
  const char* op;
  std::vector<std::vector<int64_t>> args;
  AttrMap attrs;
  double result;     // Of every element; float16 and bfloat16 hold it.
  int exponent = 0;  // Every element of the arguments is 2 to this.
};
void PrintTo(const SumCase& c, std::ostream* out) { *out << c.op; }

class AccumulatorTest : public testing::TestWithParam<std::tuple<DataType, SumCase>> {
 protected:
  static std::vector<std::byte> Powers(DataType type, int64_t count, int exponent) {
    const auto power =
        static_cast<uint16_t>(type == DataType::BFloat() ? (127 + exponent) << 7 : (15 + exponent) << 10);
    std::vector<std::byte> bytes(static_cast<size_t>(2 * count));
    for (size_t i = 0; i < bytes.size(); i += 2) std::memcpy(&bytes[i], &power, 2);
    return bytes;
  }
  void SetUp() override {
    const auto& [type, c] = GetParam();
    std::vector<Expr> args;
    for (const std::vector<int64_t>& shape : c.args) args.push_back(Var("x", MakeTensorInfo(shape, type)));
    const StatusOr<Expr> call = MakeCall(c.op, args, c.attrs);
    ASSERT_TRUE(call.ok()) << call.status().ToString();
    result_ = *call->struct_info().As<TensorStructInfo>();
    func_ = GetOp(c.op).legalize(*call->As<Call>(), call->struct_info());
    ASSERT_TRUE(func_->ok()) << func_->status().ToString();
  }

  std::optional<StatusOr<PrimFunc>> func_;
  TensorStructInfo result_;
};

TEST_P(AccumulatorTest, DoesNotStopGrowing) {
  const auto& [type, c] = GetParam();
  std::vector<Tensor> tensors;
  for (const std::vector<int64_t>& shape : c.args)
    tensors.push_back({type, shape, Powers(type, *ElementCount(shape), c.exponent)});
  const std::vector<int64_t> shape = *ConstantShape(*result_.shape);
  tensors.push_back({type, shape, std::vector<std::byte>(static_cast<size_t>(2 * *ElementCount(shape)))});
  InterpreterOptions options;
  options.check_races = false;
  const Status ran = Interpret(**func_, tensors, options);
  ASSERT_TRUE(ran.ok()) << ran.ToString();
  EXPECT_THAT(TensorData(type, shape, tensors.back().data).ToDoubles(), Each(c.result));
}

TEST_P(AccumulatorTest, RoundsInSixteenBitsOnlyWhatItStores) {
  const auto& [type, c] = GetParam();
  EXPECT_EQ(result_.dtype, type);
  for (const Rounding& rounding : FactsOf(**func_).roundings) {
    EXPECT_TRUE(rounding.type == DataType::Float(32) || rounding.count <= 2)
        << rounding.type.ToString() << ": " << rounding.count;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operators, AccumulatorTest,
    testing::Combine(
        testing::Values(DataType::Float(16), DataType::BFloat()),
        testing::Values(SumCase{"matmul", {{2, 4096}, {4096, 3}}, {}, 4096},
                        SumCase{"nn.dense", {{2, 4096}, {3, 4096}}, {}, 4096},
                        SumCase{"nn.conv2d", {{1, 4096, 2, 2}, {2, 4096, 1, 1}}, {}, 4096},
                        SumCase{"nn.conv1d", {{1, 4096, 2}, {1, 4096, 1}}, {}, 4096},
                        SumCase{"sum", {{2, 4096}}, {}, 8192}, SumCase{"mean", {{2, 4096}}, {}, 1},
                        SumCase{"nn.avg_pool2d", {{1, 2, 64, 64}}, {{"pool_size", MakeIntsAttr({64, 64})}}, 1},
                        SumCase{"nn.adaptive_avg_pool", {{1, 2, 64, 64}}, {{"output_size", MakeIntsAttr({1, 1})}}, 1},
                        SumCase{"nn.softmax", {{2, 4096}}, {}, 0x1p-12},
                        SumCase{"nn.layer_norm", {{2, 4096}, {4096}, {4096}}, {{"axes", MakeIntsAttr({-1})}}, 1},
                        // Each of 512 sums 512 squares of 16: beyond float16, and 256 more than bfloat16 counts.
                        SumCase{"nn.lrn",
                                {{1, 512, 1}},
                                {{"size", int64_t{1023}}, {"alpha", 1023.0}, {"beta", 1.0}, {"bias", 0.0}},
                                0x1p-13,
                                /*exponent=*/4})),
    [](const auto& info) {
      std::string name = std::get<SumCase>(info.param).op;
      std::replace(name.begin(), name.end(), '.', '_');
      return name + "_" + std::get<DataType>(info.param).ToString();
    });

}  // namespace
}  // namespace lathe::relax
