// Models that cannot be imported, and files that are no models.
#include <gmock/gmock.h>
#include <onnx/onnx_pb.h>

#include "compiler/import/onnx/import_onnx.h"
#include "compiler/relax/pipeline.h"
#include "deploy/demo/resnet18.h"
#include "support/random.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using testing::HasSubstr;

onnx::ModelProto Relu(const std::vector<int64_t>& shape) {
  onnx::ModelProto model;
  model.add_opset_import()->set_version(13);
  auto& graph = *model.mutable_graph();
  auto& input = *graph.add_input();
  input.set_name("x");
  auto& type = *input.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (const int64_t extent : shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
  auto& node = *graph.add_node();
  node.set_op_type("Relu");
  node.set_name("relu_0");
  node.add_input("x");
  node.add_output("y");
  graph.add_output()->set_name("y");
  return model;
}

std::string ErrorOf(const onnx::ModelProto& model, const OnnxImportOptions& options = {}) {
  return ImportOnnxBytes(model.SerializeAsString(), "m.onnx", options).status().message();
}

TEST(ImportOnnx, ListsUnsupportedOperatorsAndUnboundDimensionsInOneError) {
  onnx::ModelProto model = Relu({1, 3});
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("batch");
  model.mutable_graph()->mutable_node(0)->set_op_type("Fancy");
  onnx::NodeProto& other = *model.mutable_graph()->add_node();
  other.set_op_type("Gelu");
  other.set_domain("com.microsoft");
  other.add_output("z");
  EXPECT_EQ(ErrorOf(model),
            "import m.onnx: 2 unsupported operators: Fancy (1: \"relu_0\"), com.microsoft.Gelu (1: \"z\"); input \"x\" "
            "has unbound dimensions "
            "[batch, 3]: give its extents, e.g. --input-shape x=1,3");
}

TEST(ImportOnnx, TakesInputShapesFromTheOptions) {
  onnx::ModelProto model = Relu({0, 3});
  EXPECT_TRUE(ImportOnnxBytes(model.SerializeAsString(), "m", {.input_shapes = {{"x", {2, 3}}}}).ok());
  EXPECT_THAT(ErrorOf(model, {.input_shapes = {{"x", {2, 4}}}}),
              HasSubstr("--input-shape says 4 for dimension 1, the model fixes 3"));
  EXPECT_THAT(ErrorOf(model, {.input_shapes = {{"x", {2, 3}}, {"w", {1}}}}),
              HasSubstr("--input-shape names \"w\", which is no input; inputs are \"x\""));
}

TEST(ImportOnnx, RefusesTwoExtentsForADimensionThatInputsShare) {
  onnx::ModelProto model = Relu({0, 3});
  auto dim = [](onnx::ValueInfoProto& input) {
    return input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0);
  };
  dim(*model.mutable_graph()->mutable_input(0))->set_dim_param("batch");
  auto& other = *model.mutable_graph()->add_input();
  other = model.graph().input(0);
  other.set_name("mask");
  EXPECT_EQ(ErrorOf(model, {.input_shapes = {{"x", {4, 3}}, {"mask", {4, 3}}}}), "");
  EXPECT_THAT(ErrorOf(model, {.input_shapes = {{"x", {4, 3}}, {"mask", {1, 3}}}}),
              HasSubstr("--input-shape gives dimension \"batch\" 4 in input \"x\" and 1 in \"mask\"; one is required"));
}

TEST(ImportOnnx, RefusesAnOutputThatIsDeclaredAsAnother) {
  onnx::ModelProto model = Relu({2, 3});
  auto& declared = *model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  declared.set_elem_type(onnx::TensorProto::FLOAT);
  declared.mutable_shape()->add_dim()->set_dim_param("batch");
  declared.mutable_shape()->add_dim()->set_dim_value(3);
  EXPECT_EQ(ErrorOf(model), "");
  declared.mutable_shape()->mutable_dim(1)->set_dim_value(4);
  EXPECT_THAT(ErrorOf(model), HasSubstr("output \"y\" is declared as float32 [0, 4], its nodes give float32 [2, 3]; "
                                        "correct the declaration"));
  declared.mutable_shape()->mutable_dim(1)->set_dim_value(3);
  declared.set_elem_type(onnx::TensorProto::INT64);
  EXPECT_THAT(ErrorOf(model), HasSubstr("declared as int64 [0, 3], its nodes give float32 [2, 3]"));
}

TEST(ImportOnnx, RefusesAttributesThatNobodyReads) {
  onnx::ModelProto model = Relu({2, 3});
  auto& attribute = *model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute.set_name("slope");
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(0.1f);
  EXPECT_THAT(ErrorOf(model),
              HasSubstr("Relu node \"relu_0\": attribute slope is not known in opset 13; export the model without it"));
}

TEST(ImportOnnx, NamesInputsWhoseDefaultIsTakenForGood) {
  onnx::ModelProto model = Relu({1});
  model.set_ir_version(7);
  auto& value = *model.mutable_graph()->add_initializer();
  value.set_name("x");
  value.set_data_type(onnx::TensorProto::FLOAT);
  value.add_dims(1);
  value.add_float_data(-2);
  const auto module = ImportOnnxBytes(model.SerializeAsString(), "m");
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  EXPECT_EQ(module->functions[0].attrs.at("frozen_inputs"), Attr(std::vector<Attr>{"x"}));
  model.set_ir_version(3);  // Then every initializer was an input, too.
  EXPECT_FALSE(ImportOnnxBytes(model.SerializeAsString(), "m")->functions[0].attrs.contains("frozen_inputs"));
}

// Shape arithmetic goes on when folded weights have used up their steps.
TEST(ImportOnnx, EvaluatesShapesAfterTheStepsForWeightsAreGone) {
  onnx::ModelProto model = Relu({1, 4096});
  auto& graph = *model.mutable_graph();
  const auto constant = [&](const char* name, const std::vector<int64_t>& values) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) tensor.add_int64_data(value);
  };
  const auto node = [&](const char* op, const std::vector<const char*>& inputs, const char* output) {
    auto& made = *graph.add_node();
    made.set_op_type(op);
    for (const char* input : inputs) made.add_input(input);
    made.add_output(output);
  };
  constant("weight", std::vector<int64_t>(4096, 3));
  constant("half", {2, 2048});
  constant("one", {1, 1});
  node("Add", {"weight", "weight"}, "twice");
  node("Add", {"twice", "weight"}, "thrice");
  node("Mul", {"half", "one"}, "shape");
  node("Reshape", {"x", "shape"}, "z");
  EXPECT_EQ(ErrorOf(model, {.max_evaluation_steps = 6000}), "");
}

TEST(ImportOnnx, RefusesExternalDataAndWrongSizes) {
  onnx::ModelProto model = Relu({1, 3});
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(int64_t{1} << 33);
  tensor.set_raw_data("1234");
  EXPECT_THAT(ErrorOf(model),
              HasSubstr("tensor \"w\": 4 bytes of data, shape [8589934592] of float32 needs 34359738368"));
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  EXPECT_THAT(ErrorOf(model), HasSubstr("its data is in another file"));
}

TEST(ImportOnnx, LimitsWhatConstantOfShapeMayTake) {
  onnx::ModelProto model = Relu({1, 3});
  auto& shape = *model.mutable_graph()->add_initializer();
  shape.set_name("shape");
  shape.set_data_type(onnx::TensorProto::INT64);
  shape.add_dims(1);
  shape.add_int64_data(int64_t{1} << 30);
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type("ConstantOfShape");
  node.add_input("shape");
  node.add_output("big");
  EXPECT_THAT(ErrorOf(model, {.max_constant_bytes = 1 << 20}), HasSubstr("constant of 4294967296 bytes, 1048576 left"));
}

// Each of these nodes alone is cheap enough to be evaluated; all of them would take an hour.
TEST(ImportOnnx, LeavesConstantsToRunTimeWhenThereAreTooManyToEvaluate) {
  onnx::ModelProto model = Relu({1, 3});
  auto& shape = *model.mutable_graph()->add_initializer();
  shape.set_name("shape");
  shape.set_data_type(onnx::TensorProto::INT64);
  shape.add_dims(1);
  shape.add_int64_data(int64_t{1} << 20);
  auto& large = *model.mutable_graph()->add_node();
  large.set_op_type("ConstantOfShape");
  large.add_input("shape");
  large.add_output("large");
  const int reductions = PropertyRuns(5000);
  for (int i = 0; i < reductions; ++i) {
    auto& node = *model.mutable_graph()->add_node();
    node.set_op_type("ReduceMax");
    node.add_input("large");
    node.add_output("max" + std::to_string(i));
  }
  EXPECT_EQ(ErrorOf(model, {.max_evaluation_steps = 1 << 24}), "");
}

TEST(ImportOnnx, SaysThatAFileIsNoModel) {
  EXPECT_THAT(ImportOnnx("/nonexistent/m.onnx").status().message(),
              "import /nonexistent/m.onnx: no such file; check its name");
  EXPECT_EQ(ImportOnnx(testing::TempDir()).status().message(),
            "import " + testing::TempDir() + ": it is a folder; name an .onnx file");
  EXPECT_EQ(ImportOnnx("/dev/zero").status().message(), "import /dev/zero: it is no regular file; name an .onnx file");
  EXPECT_THAT(ImportOnnxBytes("not a model at all", "m").status().message(),
              HasSubstr("no valid ONNX model (18 bytes)"));
  EXPECT_THAT(ImportOnnxBytes("", "m").status().message(), HasSubstr("no graph inside"));
}

TEST(ImportOnnx, RefusesCyclesRepeatedNamesAndUnknownOpsets) {
  onnx::ModelProto model = Relu({1, 3});
  onnx::NodeProto& second = *model.mutable_graph()->add_node();
  second = model.graph().node(0);
  second.set_name("relu_1");
  EXPECT_THAT(ErrorOf(model), HasSubstr("Relu node \"relu_1\": output \"y\" has been made before"));
  second.set_output(0, "z");
  second.set_input(0, "y");
  EXPECT_EQ(ErrorOf(model), "");
  model.mutable_graph()->mutable_node(0)->set_input(0, "z");
  EXPECT_THAT(ErrorOf(model), HasSubstr("Relu node \"relu_0\": input \"z\" is made by no node before it"));
  model = Relu({1, 3});
  *model.mutable_graph()->add_input() = model.graph().input(0);
  EXPECT_THAT(ErrorOf(model), HasSubstr("input \"x\" stands twice"));
  model = Relu({1, 3});
  model.mutable_opset_import(0)->set_version(99);
  EXPECT_THAT(ErrorOf(model),
              HasSubstr("operator set 99, 1 to 22 are known; export the model with an opset in that range"));
}

TEST(ImportOnnx, RefusesAbsurdExtents) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1, int64_t{1} << 40},
                                            {INT64_MAX, INT64_MAX},
                                            {65536, 65536},
                                            std::vector<int64_t>(40, 1)}) {
    EXPECT_THAT(ErrorOf(Relu(shape)), HasSubstr("import m.onnx: input \"x\": ")) << testing::PrintToString(shape);
  }
}

TEST(ImportOnnx, SaysWhatIsWrongWhereverAFileIsCut) {
  const std::string good = Relu({1, 3}).SerializeAsString();
  for (size_t size = 0; size < good.size(); ++size) {
    const auto module = ImportOnnxBytes(std::string_view(good).substr(0, size), "cut");
    EXPECT_FALSE(module.ok()) << size;
    EXPECT_THAT(module.status().message(), testing::StartsWith("import cut: "));
  }
}

TEST(ImportOnnx, SurvivesTruncatedAndMutatedFiles) {
  const std::string good = demo::BuildResNet18({.width = 0.05, .image = 32})->SerializeAsString();
  constexpr uint64_t kSeed = 77;
  int imported = 0;
  const int rounds = PropertyRuns(400);
  for (int round = 0; round < rounds; ++round) {
    Random random(Random::Mix(kSeed + static_cast<uint64_t>(round)));
    std::string bytes = good;
    if (round % 8 == 0) bytes.resize(random.Below(bytes.size()));
    // Half of the rounds hit the last part of the file, where the nodes' names and attributes are not, and half
    // anywhere.
    for (uint64_t k = 1 + random.Below(6); k > 0 && !bytes.empty(); --k)
      bytes[random.Below(round % 2 == 0 ? std::min<size_t>(bytes.size(), 8192) : bytes.size())] =
          static_cast<char>(random.Next());
    SCOPED_TRACE("seed " + std::to_string(kSeed) + " round " + std::to_string(round));
    const auto module = ImportOnnxBytes(bytes, "mutated", {.max_constant_bytes = 64 << 20});
    imported += module.ok() ? 1 : 0;
    if (!module.ok()) {
      EXPECT_FALSE(module.status().message().empty());
    } else if (round % 16 == 1) {
      const auto optimized = relax::OptimizeForTuning(*module, 16);
      EXPECT_TRUE(optimized.ok()) << optimized.status().ToString();
    }
  }
  EXPECT_GT(imported, 0);
  EXPECT_LT(imported, rounds);
}

}  // namespace
}  // namespace lathe
