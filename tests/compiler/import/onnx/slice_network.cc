#include "tests/compiler/import/onnx/slice_network.h"

#include <algorithm>
#include <set>

#include "tests/reference/tensor_io.h"

namespace lathe {
namespace {

using reference::Dims;

struct Image {
  std::string name;
  int64_t channels;
  bool is_flat;  // (1, channels, rows * columns), else (1, channels, rows, columns).
};

class Writer {
 public:
  explicit Writer(Random& random) : random_(random), graph_(*model_.mutable_graph()) {
    constexpr std::pair<int64_t, int64_t> kSizes[] = {
        {4, 4}, {4, 4}, {2, 2}, {4, 3}};  // A channel has 64, 16 or 48 bytes.
    std::tie(rows_, columns_) = kSizes[random.Below(std::size(kSizes))];
    model_.add_opset_import()->set_version(11);
    model_.set_ir_version(7);
    auto& input = *graph_.add_input();
    input.set_name("x");
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t extent : DimsOf({"x", 4, false})) type.mutable_shape()->add_dim()->set_dim_value(extent);
    images_.push_back({"x", 4, false});
  }

  onnx::ModelProto Write() {
    for (uint64_t i = 6 + random_.Below(14); i > 0; --i) AddNode();
    const size_t count = images_.size();
    for (const bool is_flat : {false, true}) JoinUnused(is_flat);
    for (size_t i = 1; i < images_.size(); ++i) {
      if (!used_.contains(images_[i].name) || (i < count && random_.Below(16) == 0))
        graph_.add_output()->set_name(images_[i].name);
    }
    return std::move(model_);
  }

 private:
  Dims DimsOf(const Image& image) const {
    return image.is_flat ? Dims{1, image.channels, rows_ * columns_} : Dims{1, image.channels, rows_, columns_};
  }
  Image Any() { return images_[random_.Below(images_.size())]; }
  std::vector<Image> AllLike(bool is_flat) const {
    std::vector<Image> alike;
    for (const Image& image : images_)
      if (image.is_flat == is_flat) alike.push_back(image);
    return alike;
  }
  onnx::NodeProto& Node(const char* op, const std::vector<std::string>& inputs) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    used_.insert(inputs.begin(), inputs.end());
    return node;
  }
  void AddResult(onnx::NodeProto& node, int64_t channels, bool is_flat) {
    images_.push_back({"t" + std::to_string(images_.size()), channels, is_flat});
    node.add_output(images_.back().name);
  }
  std::string Constant(const Dims& dims) {
    std::vector<double> values(static_cast<size_t>(reference::Product(dims)));
    for (double& value : values) value = static_cast<float>(random_.Unit() - 0.5);
    return Initializer(reference::Tensor::Floats(dims, values));
  }
  std::string Initializer(const reference::Tensor& tensor) {
    const std::string name = "c" + std::to_string(graph_.initializer_size());
    reference::ToProto(tensor, name, *graph_.add_initializer());
    return name;
  }
  static onnx::AttributeProto& Attribute(onnx::NodeProto& node, const char* name,
                                         onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }

  void AddNode() {
    switch (random_.Below(10)) {
      case 0:
      case 1:
        return AddUnary();
      case 2:
        return AddConvolution();
      case 3:
        return AddSplit();
      case 4:
        return AddReshape();
      case 5:
      case 6:
        return AddSum();
      default:
        return AddConcat();
    }
  }
  void AddUnary() {
    const Image x = Any();
    AddResult(Node(random_.Below(2) == 0 ? "Relu" : "Neg", {x.name}), x.channels, x.is_flat);
  }
  void AddConvolution() {
    const Image x = Any();
    if (x.is_flat) return AddUnary();
    const int64_t channels = 4 * (1 + static_cast<int64_t>(random_.Below(4)));
    AddResult(Node("Conv", {x.name, Constant({channels, x.channels, 1, 1})}), channels, false);
  }
  void AddSplit() {
    const Image x = Any();
    if (x.channels < 2) return AddUnary();
    const bool is_whole_fours = x.channels >= 8 && random_.Below(4) != 0;
    const int64_t unit = is_whole_fours ? 4 : 1, units = x.channels / unit;
    const int64_t first = unit * (1 + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(units - 1))));
    onnx::NodeProto& node = Node("Split", {x.name});
    Attribute(node, "axis", onnx::AttributeProto::INT).set_i(1);
    auto& parts = Attribute(node, "split", onnx::AttributeProto::INTS);
    for (const int64_t part : {first, x.channels - first}) {
      parts.add_ints(part);
      AddResult(node, part, x.is_flat);
    }
  }
  void AddReshape() {
    const Image x = Any();
    const Dims to = DimsOf({"", x.channels, !x.is_flat});
    AddResult(Node("Reshape", {x.name, Initializer(reference::Tensor::Ints({static_cast<int64_t>(to.size())}, to))}),
              x.channels, !x.is_flat);
  }
  void AddSum() {
    const Image x = Any();
    std::vector<Image> alike = AllLike(x.is_flat);
    std::erase_if(alike, [&](const Image& image) { return image.channels != x.channels; });
    AddResult(Node("Add", {x.name, alike[random_.Below(alike.size())].name}), x.channels, x.is_flat);
  }
  // So that nothing is left out of the network.
  void JoinUnused(bool is_flat) {
    std::vector<std::string> inputs;
    int64_t channels = 0;
    for (const Image& image : AllLike(is_flat)) {
      if (used_.contains(image.name)) continue;
      AddResult(Node("Sigmoid", {image.name}), image.channels, is_flat);
      inputs.push_back(images_.back().name);
      channels += image.channels;
    }
    if (inputs.empty()) return;
    onnx::NodeProto& node = Node("Concat", inputs);
    Attribute(node, "axis", onnx::AttributeProto::INT).set_i(1);
    AddResult(node, channels, is_flat);
  }
  void AddConcat() {
    const std::vector<Image> alike = AllLike(Any().is_flat);
    std::vector<std::string> inputs;
    int64_t channels = 0;
    for (uint64_t i = 2 + random_.Below(2); i > 0; --i) {
      const Image& x =
          alike[alike.size() - 1 -
                std::min({random_.Below(alike.size()), random_.Below(alike.size()), random_.Below(alike.size())})];
      const bool is_repeated = std::find(inputs.begin(), inputs.end(), x.name) != inputs.end();
      if (channels + x.channels > 64 || (is_repeated && random_.Below(4) != 0)) continue;
      inputs.push_back(x.name);
      channels += x.channels;
    }
    if (inputs.empty()) return AddUnary();
    if (random_.Below(10) == 0) inputs.push_back(Constant(DimsOf({"", 4, alike[0].is_flat}))), channels += 4;
    onnx::NodeProto& node = Node("Concat", inputs);
    Attribute(node, "axis", onnx::AttributeProto::INT).set_i(1);
    AddResult(node, channels, alike[0].is_flat);
  }

  Random& random_;
  onnx::ModelProto model_;
  onnx::GraphProto& graph_;
  int64_t rows_ = 0, columns_ = 0;
  std::vector<Image> images_;
  std::set<std::string> used_;
};

}  // namespace

onnx::ModelProto RandomSliceNetwork(Random& random) { return Writer(random).Write(); }

}  // namespace lathe
