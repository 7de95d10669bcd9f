// Models that parse but make no sense: numbers, names, types and edges of good ones changed at random. Each is
// imported, optimised and planned, or refused with a message; none may end the process, take minutes or much memory.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/operators.h"
#include "compiler/relax/executor_plan.h"
#include "compiler/relax/pipeline.h"
#include "deploy/demo/resnet18.h"
#include "support/random.h"
#include "tests/property_runs.h"
#include "tests/reference/evaluate.h"
#include "tests/reference/tensor_io.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int64_t kExtremes[] = {
    0,         1,         -1,       2, 3, 7, -2, 255, 1 << 16, INT32_MAX, int64_t{INT32_MAX} + 1, int64_t{1} << 40,
    INT64_MAX, INT64_MIN, INT32_MIN};

// Changes one thing of a model.
class Mutator {
 public:
  Mutator(onnx::ModelProto& model, Random& random) : model_(model), graph_(*model.mutable_graph()), random_(random) {}

  void Change() {
    switch (random_.Below(12)) {
      case 0:
      case 1:
      case 2:
        return ChangeAttribute();
      case 3:
        return ChangeInitializer();
      case 4:
        return ChangeInput();
      case 5:
        return RewireInput();
      case 6:
        return RenameOutput();
      case 7:
        return ReplaceOperator();
      case 8:
        return MoveNode();
      case 9:
        return CopyNode();
      case 10:
        return ChangeGraphOutput();
      case 11:
        return ChangeOpset();
    }
  }

 private:
  int64_t Number() {
    return random_.Below(3) == 0 ? static_cast<int64_t>(random_.Below(20)) - 5
                                 : kExtremes[random_.Below(std::size(kExtremes))];
  }
  template <typename Field>
  auto* Any(Field* field) {
    return field->size() == 0 ? nullptr
                              : field->Mutable(static_cast<int>(random_.Below(static_cast<uint64_t>(field->size()))));
  }
  // The name of any value of the graph.
  std::string AnyName() {
    std::vector<std::string> names = {"nothing", ""};
    for (const auto& input : graph_.input()) names.push_back(input.name());
    for (const auto& tensor : graph_.initializer()) names.push_back(tensor.name());
    for (const auto& node : graph_.node()) names.insert(names.end(), node.output().begin(), node.output().end());
    return names[random_.Below(names.size())];
  }

  void ChangeAttribute() {
    onnx::NodeProto* node = Any(graph_.mutable_node());
    if (node == nullptr) return;
    onnx::AttributeProto* attribute = Any(node->mutable_attribute());
    if (attribute == nullptr) return;
    switch (random_.Below(6)) {
      case 0:
        attribute->set_type(static_cast<onnx::AttributeProto::AttributeType>(random_.Below(9)));
        break;
      case 1:
        attribute->set_name(attribute->name() + "_");
        break;
      case 2:
        *node->add_attribute() = *attribute;
        break;
      case 3:
        attribute->clear_ints();
        break;
      default:
        break;
    }
    attribute->set_i(Number());
    attribute->set_f(random_.Below(4) == 0 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(Number()));
    if (attribute->ints_size() > 0)
      attribute->set_ints(static_cast<int>(random_.Below(static_cast<uint64_t>(attribute->ints_size()))), Number());
    if (random_.Below(6) == 0) attribute->add_ints(Number());
    if (attribute->has_t()) ChangeTensor(*attribute->mutable_t());
  }
  void ChangeTensor(onnx::TensorProto& tensor) {
    switch (random_.Below(5)) {
      case 0:
        tensor.set_data_type(static_cast<int>(random_.Below(18)));
        break;
      case 1:
        tensor.add_dims(Number());
        break;
      case 2:
        if (tensor.dims_size() > 0)
          tensor.set_dims(static_cast<int>(random_.Below(static_cast<uint64_t>(tensor.dims_size()))), Number());
        break;
      case 3:
        tensor.clear_dims();
        break;
      default:
        ChangeContents(tensor);
    }
  }
  // Numbers of shapes, axes, pads.
  void ChangeContents(onnx::TensorProto& tensor) {
    if (tensor.data_type() != onnx::TensorProto::INT64) return;
    const int64_t number = Number();
    if (tensor.has_raw_data() && tensor.raw_data().size() >= sizeof(number)) {
      std::string bytes = tensor.raw_data();
      std::memcpy(bytes.data() + random_.Below(bytes.size() / sizeof(number)) * sizeof(number), &number,
                  sizeof(number));
      tensor.set_raw_data(bytes);
    } else if (tensor.int64_data_size() > 0) {
      tensor.set_int64_data(static_cast<int>(random_.Below(static_cast<uint64_t>(tensor.int64_data_size()))), number);
    }
  }
  void ChangeInitializer() {
    if (onnx::TensorProto* tensor = Any(graph_.mutable_initializer())) ChangeTensor(*tensor);
  }
  void ChangeInput() {
    onnx::ValueInfoProto* input = Any(graph_.mutable_input());
    if (input == nullptr) return;
    onnx::TypeProto::Tensor& type = *input->mutable_type()->mutable_tensor_type();
    switch (random_.Below(5)) {
      case 0:
        type.set_elem_type(static_cast<int>(random_.Below(18)));
        break;
      case 1:
        type.mutable_shape()->add_dim()->set_dim_value(Number());
        break;
      case 2:
        type.mutable_shape()->clear_dim();
        break;
      case 3:
        input->set_name(AnyName());
        break;
      default:
        if (auto* dim = Any(type.mutable_shape()->mutable_dim())) dim->set_dim_value(Number());
    }
  }
  void RewireInput() {
    onnx::NodeProto* node = Any(graph_.mutable_node());
    if (node == nullptr) return;
    if (random_.Below(4) == 0)
      node->add_input(AnyName());
    else if (random_.Below(4) == 0 && node->input_size() > 0)
      node->mutable_input()->RemoveLast();
    else if (node->input_size() > 0)
      node->set_input(static_cast<int>(random_.Below(static_cast<uint64_t>(node->input_size()))), AnyName());
  }
  void RenameOutput() {
    onnx::NodeProto* node = Any(graph_.mutable_node());
    if (node == nullptr) return;
    if (random_.Below(3) == 0)
      node->add_output("extra");
    else if (node->output_size() > 0)
      node->set_output(static_cast<int>(random_.Below(static_cast<uint64_t>(node->output_size()))), AnyName());
  }
  void ReplaceOperator() {
    std::vector<std::string> names;
    for (const auto rows : {OnnxActivations(), OnnxArithmetic(), OnnxConvolutions(), OnnxMatrixOperators(),
                            OnnxMovements(), OnnxNormalizations(), OnnxShapeOperators()}) {
      for (const OnnxOperator& row : rows) names.emplace_back(row.name);
    }
    if (onnx::NodeProto* node = Any(graph_.mutable_node())) node->set_op_type(names[random_.Below(names.size())]);
  }
  void MoveNode() {
    if (graph_.node_size() < 2) return;
    const auto any = [&] { return static_cast<int>(random_.Below(static_cast<uint64_t>(graph_.node_size()))); };
    graph_.mutable_node()->SwapElements(any(), any());
    if (random_.Below(3) == 0) graph_.mutable_node()->RemoveLast();
  }
  void CopyNode() {
    if (graph_.node_size() == 0) return;
    onnx::NodeProto copy = graph_.node(static_cast<int>(random_.Below(static_cast<uint64_t>(graph_.node_size()))));
    if (random_.Below(2) == 0 && copy.output_size() > 0) copy.set_output(0, "copied");
    *graph_.add_node() = copy;
  }
  void ChangeGraphOutput() {
    if (random_.Below(2) == 0)
      graph_.add_output()->set_name(AnyName());
    else if (auto* output = Any(graph_.mutable_output()))
      output->set_name(AnyName());
  }
  void ChangeOpset() {
    if (auto* set = Any(model_.mutable_opset_import())) set->set_version(static_cast<int64_t>(random_.Below(26)) - 1);
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& graph_;
  Random& random_;
};

// Small models with every operator of the table between them.
std::vector<onnx::ModelProto> GoodModels() {
  std::vector<onnx::ModelProto> models;
  const std::string folder = LATHE_ONNX_NODE_TESTS;
  std::vector<std::string> names;
  if (!folder.empty()) {
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const auto model = reference::LoadModel(folder + "/" + name + "/model.onnx");
    const auto data = reference::LoadDataSet(folder + "/" + name + "/test_data_set_0");
    if (!model.ok() || !data.ok() || data->inputs.size() != static_cast<size_t>((*model)->graph().input_size()))
      continue;
    onnx::ModelProto copy = **model;
    const bool is_known =
        std::all_of(copy.graph().node().begin(), copy.graph().node().end(),
                    [](const onnx::NodeProto& node) { return FindOnnxOperator(node.op_type()) != nullptr; });
    for (size_t i = 1; i < data->inputs.size(); ++i)
      reference::ToProto(data->inputs[i], copy.graph().input(static_cast<int>(i)).name(),
                         *copy.mutable_graph()->add_initializer());
    if (is_known && copy.ByteSizeLong() < 200'000) models.push_back(std::move(copy));
  }
  models.push_back(*demo::BuildResNet18({.width = 0.02, .image = 32}));
  return models;
}

Status ImportAndPlan(const onnx::ModelProto& model) {
  StatusOr<relax::IRModule> module =
      ImportOnnxBytes(model.SerializeAsString(), "hostile", {.max_constant_bytes = 64 << 20});
  if (!module.ok()) return module.status();
  const StatusOr<relax::IRModule> optimized = relax::OptimizeForTuning(*std::move(module), 16);
  if (!optimized.ok()) return optimized.status();
  return relax::MakeExecutorPlan(*optimized).status();
}

TEST(HostileModels, AreRefusedOrPlanned) {
  const char* seed_text = std::getenv("LATHE_SEED");
  const auto rounds = static_cast<uint64_t>(PropertyRuns(3000));
  const uint64_t seed = seed_text == nullptr ? 20 : std::strtoull(seed_text, nullptr, 10);
  const std::vector<onnx::ModelProto> models = GoodModels();
  uint64_t planned = 0, slowest_round = 0;
  double slowest = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
    Random random(Random::Mix(seed * 1'000'003 + round));
    onnx::ModelProto model = models[random.Below(models.size())];
    Mutator mutator(model, random);
    for (uint64_t k = 1 + random.Below(4); k > 0; --k) mutator.Change();
    SCOPED_TRACE("LATHE_SEED=" + std::to_string(seed) + " round " + std::to_string(round) + ": " +
                 (model.graph().node_size() < 10 ? model.graph().ShortDebugString().substr(0, 2000) : ""));
    const auto begin = std::chrono::steady_clock::now();
    const Status status = ImportAndPlan(model);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (seconds > slowest) slowest = seconds, slowest_round = round;
    planned += status.ok();
    EXPECT_NE(status.code(), StatusCode::kInternal) << status.ToString();
    if (!status.ok()) {
      EXPECT_THAT(status.message(), HasSubstr(": "));
    }
    EXPECT_EQ(status.message().find('\n'), std::string::npos);
    EXPECT_LT(status.message().size(), 4000u);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("%zu models, %llu rounds, %llu planned; the slowest, round %llu, took %.1f s; %ld MiB at most\n",
              models.size(), (unsigned long long)rounds, (unsigned long long)planned, (unsigned long long)slowest_round,
              slowest, usage.ru_maxrss / 1024);
  if (AllRuns(3000)) {
    EXPECT_GT(planned, rounds / 20);
  }
  EXPECT_LT(planned, rounds);
}

}  // namespace
}  // namespace lathe
