// The evaluator against ONNX's own single-operator tests (package libonnx-testdata): every test whose operators it
// knows.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "tests/reference/compare.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/operators.h"
#include "tests/reference/tensor_io.h"

namespace lathe::reference {
namespace {

namespace fs = std::filesystem;

// The operators of CNN classifiers; each must be known and be covered by at least one of the tests.
constexpr std::string_view kCnnOperators[] = {"Conv",          "MaxPool",
                                              "AveragePool",   "GlobalAveragePool",
                                              "GlobalMaxPool", "BatchNormalization",
                                              "Gemm",          "MatMul",
                                              "Relu",          "Sigmoid",
                                              "Tanh",          "HardSigmoid",
                                              "HardSwish",     "Clip",
                                              "Add",           "Sub",
                                              "Mul",           "Div",
                                              "Sum",           "Mean",
                                              "Concat",        "Reshape",
                                              "Flatten",       "Squeeze",
                                              "Unsqueeze",     "Transpose",
                                              "Softmax",       "LogSoftmax",
                                              "Hardmax",       "ReduceMean",
                                              "Dropout",       "Identity",
                                              "Constant",      "ConstantOfShape",
                                              "LRN",           "Pad"};

constexpr const char* kStrings = "strings are outside the evaluator";
constexpr const char* kBfloat16AsUint16 = "this version's files store bfloat16 tensors with data type UINT16";
constexpr const char* kNoTensor = "a sequence or optional value, which the evaluator does not have";
constexpr const char* kRandom = "training mode: expects one random generator's mask";
const std::map<std::string, const char*> kSkipped = {
    {"test_cast_BFLOAT16_to_FLOAT", kBfloat16AsUint16},
    {"test_cast_FLOAT_to_BFLOAT16", kBfloat16AsUint16},
    {"test_castlike_BFLOAT16_to_FLOAT_expanded", kBfloat16AsUint16},
    {"test_castlike_FLOAT_to_BFLOAT16_expanded", kBfloat16AsUint16},
    {"test_cast_FLOAT_to_STRING", kStrings},
    {"test_cast_STRING_to_FLOAT", kStrings},
    {"test_castlike_FLOAT_to_STRING_expanded", kStrings},
    {"test_castlike_STRING_to_FLOAT_expanded", kStrings},
    {"test_identity_opt", kNoTensor},
    {"test_identity_sequence", kNoTensor},
    {"test_training_dropout", kRandom},
    {"test_training_dropout_default", kRandom},
    {"test_training_dropout_default_mask", kRandom},
    {"test_training_dropout_mask", kRandom},
};

struct NodeTest {
  std::string name, folder;
};

std::vector<NodeTest> KnownTests() {
  std::vector<NodeTest> tests;
  for (const auto& entry : fs::directory_iterator(LATHE_ONNX_NODE_TESTS)) {
    const auto model = LoadModel(entry.path() / "model.onnx");
    EXPECT_TRUE(model.ok()) << model.status().ToString();
    if (!model.ok()) continue;
    const auto& nodes = (*model)->graph().node();
    const bool known = std::all_of(nodes.begin(), nodes.end(),
                                   [](const auto& n) { return n.domain().empty() && FindOperator(n.op_type()); });
    if (known) tests.push_back({entry.path().filename(), entry.path()});
  }
  std::sort(tests.begin(), tests.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return tests;
}

Status RunTest(const NodeTest& test) {
  const auto model = LoadModel(test.folder + "/model.onnx");
  if (!model.ok()) return model.status();
  for (const std::string& folder : DataSetFolders(test.folder)) {
    const StatusOr<DataSet> data = LoadDataSet(folder);
    if (!data.ok()) return data.status();
    const auto outputs = Evaluate(**model, data->inputs);
    if (!outputs.ok()) return outputs.status();
    const Status status = CompareAll(*outputs, data->outputs);
    if (!status.ok()) return status;
  }
  return OkStatus();
}

class OnnxNodeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string_view(LATHE_ONNX_NODE_TESTS).empty())
      GTEST_SKIP() << "no ONNX node tests here; apt-get install libonnx-testdata";
  }
};

TEST_F(OnnxNodeTest, PassesEveryTestOfAKnownOperatorThatIsNotListedAsSkipped) {
  std::set<std::string> covered;
  int passed = 0;
  for (const NodeTest& test : KnownTests()) {
    const Status status = RunTest(test);
    if (const auto skipped = kSkipped.find(test.name); skipped != kSkipped.end()) {
      EXPECT_FALSE(status.ok()) << test.name << " passes, although the list says: " << skipped->second;
      continue;
    }
    EXPECT_TRUE(status.ok()) << test.name << ": " << status.ToString();
    if (!status.ok()) continue;
    ++passed;
    const auto model = LoadModel(test.folder + "/model.onnx");
    for (const auto& node : (*model)->graph().node()) covered.insert(node.op_type());
  }
  for (std::string_view name : kCnnOperators)
    EXPECT_TRUE(covered.contains(std::string(name))) << name << " has no test";
  RecordProperty("passed", passed);
  EXPECT_GE(passed, 300);  // Of version 1.12; later ones have more.
}

}  // namespace
}  // namespace lathe::reference
