#include "compiler/import/onnx/import_onnx.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "compiler/import/onnx/operators.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

using relax::Expr;

constexpr int64_t kNewestOpset = 22;
constexpr size_t kMaxFileBytes = (size_t{1} << 31) - 1;  // Protobuf's own limit.
constexpr size_t kNamesShown = 10;
constexpr int64_t kDefaultsSince = 4;  // IR version from which on an initializer among the inputs is a default value.

class Importer {
 public:
  Importer(const onnx::ModelProto& model, const OnnxImportOptions& options)
      : graph_(model.graph()),
        model_(model),
        options_(options),
        builder_({options.max_constant_bytes, options.max_evaluation_steps}) {}

  StatusOr<relax::IRModule> Import() {
    RETURN_IF_ERROR(ReadOpset());
    RETURN_IF_ERROR(CheckAll());
    RETURN_IF_ERROR(AddInitializers());
    RETURN_IF_ERROR(AddInputs());
    for (const onnx::NodeProto& node : graph_.node()) RETURN_IF_ERROR(Translate(node));
    return Finish();
  }

 private:
  Status ReadOpset() {
    bool is_named = model_.ir_version() == 1 || model_.ir_version() == 2;  // Then there was only one.
    for (const auto& set : model_.opset_import()) {
      if (!set.domain().empty() && set.domain() != "ai.onnx") continue;
      opset_ = set.version();
      is_named = true;
    }
    if (!is_named)
      return InvalidArgument(fmt::format(
          "no operator set is named, IR version {} requires one; the file is truncated or was not written whole",
          model_.ir_version()));
    if (opset_ < 1 || opset_ > kNewestOpset) {
      return InvalidArgument(fmt::format(
          "operator set {}, 1 to {} are known; export the model with an opset in that range", opset_, kNewestOpset));
    }
    return OkStatus();
  }

  // Everything that the user has to change, at once.
  Status CheckAll() {
    for (const auto& tensor : graph_.initializer()) constants_.insert(tensor.name());
    std::vector<std::string> problems;
    if (std::string operators = UnsupportedOperators(); !operators.empty()) problems.push_back(std::move(operators));
    if (graph_.sparse_initializer_size() > 0)
      problems.push_back(
          fmt::format("{} sparse initializers, which are not supported", graph_.sparse_initializer_size()));
    std::set<std::string> unknown;
    for (const auto& [name, shape] : options_.input_shapes) unknown.insert(name);
    std::map<std::string, Binding> bindings;
    for (const auto& input : graph_.input()) {
      if (constants_.contains(input.name())) continue;
      unknown.erase(input.name());
      if (std::string conflict = BindDimensions(input, bindings); !conflict.empty())
        problems.push_back(std::move(conflict));
      if (std::string unbound = UnboundDimensions(input); !unbound.empty()) problems.push_back(std::move(unbound));
    }
    if (!unknown.empty())
      problems.push_back(fmt::format("--input-shape names \"{}\", which is no input; inputs are {}",
                                     fmt::join(unknown, "\", \""), InputList()));
    if (problems.empty()) return OkStatus();
    return InvalidArgument(fmt::format("{}", fmt::join(problems, "; ")));
  }

  // Where a dimension that the model names got its extent.
  struct Binding {
    std::string input;
    int64_t extent;
  };
  // Empty unless the options give a dimension that inputs share another extent than before.
  std::string BindDimensions(const onnx::ValueInfoProto& input, std::map<std::string, Binding>& bindings) const {
    const auto given = options_.input_shapes.find(input.name());
    const auto& dims = input.type().tensor_type().shape().dim();
    if (given == options_.input_shapes.end() || given->second.size() != static_cast<size_t>(dims.size())) return "";
    for (int i = 0; i < dims.size(); ++i) {
      const int64_t extent = given->second[static_cast<size_t>(i)];
      if (dims[i].dim_param().empty()) continue;
      const auto [known, is_new] = bindings.try_emplace(dims[i].dim_param(), Binding{input.name(), extent});
      if (!is_new && known->second.extent != extent)
        return fmt::format("--input-shape gives dimension \"{}\" {} in input \"{}\" and {} in \"{}\"; one is required",
                           dims[i].dim_param(), known->second.extent, known->second.input, extent, input.name());
    }
    return "";
  }

  std::string InputList() const {
    std::vector<std::string> names;
    for (const auto& input : graph_.input()) {
      if (!constants_.contains(input.name())) names.push_back(fmt::format("\"{}\"", input.name()));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  std::string UnsupportedOperators() const {
    std::map<std::string, std::vector<std::string>> missing;
    for (const onnx::NodeProto& node : graph_.node()) {
      const bool is_standard = node.domain().empty() || node.domain() == "ai.onnx";
      if (is_standard && FindOnnxOperator(node.op_type()) != nullptr) continue;
      missing[is_standard ? node.op_type() : node.domain() + "." + node.op_type()].push_back(
          fmt::format("\"{}\"", NodeName(node)));
    }
    if (missing.empty()) return "";
    std::vector<std::string> rows;
    for (auto& [op, nodes] : missing) {
      const size_t count = nodes.size();
      if (count > kNamesShown) nodes.resize(kNamesShown);
      rows.push_back(fmt::format("{} ({}: {}{})", op, count, fmt::join(nodes, ", "),
                                 count > kNamesShown ? fmt::format(" and {} more", count - kNamesShown) : ""));
    }
    return fmt::format("{} unsupported operators: {}", missing.size(), fmt::join(rows, ", "));
  }

  // Empty where the model or the options say every extent.
  std::string UnboundDimensions(const onnx::ValueInfoProto& input) const {
    if (options_.input_shapes.contains(input.name())) return "";
    const auto& type = input.type().tensor_type();
    const auto advice = [&](const std::string& example) {
      return fmt::format("give its extents, e.g. --input-shape {}={}", input.name(), example);
    };
    if (!type.has_shape()) return fmt::format("input \"{}\" has no shape: {}", input.name(), advice("1,3,224,224"));
    std::vector<std::string> dims, example;
    bool is_unbound = false;
    for (const auto& dim : type.shape().dim()) {
      const bool is_known = dim.value_case() == onnx::TensorShapeProto::Dimension::kDimValue && dim.dim_value() > 0;
      is_unbound = is_unbound || !is_known;
      dims.push_back(is_known ? fmt::format("{}", dim.dim_value()) : dim.dim_param().empty() ? "?" : dim.dim_param());
      example.push_back(is_known ? dims.back() : "1");
    }
    if (!is_unbound) return "";
    return fmt::format("input \"{}\" has unbound dimensions [{}]: {}", input.name(), fmt::join(dims, ", "),
                       advice(fmt::format("{}", fmt::join(example, ","))));
  }

  Status AddInitializers() {
    for (const auto& tensor : graph_.initializer()) {
      ASSIGN_OR_RETURN(relax::TensorData data, TensorFromProto(tensor));
      values_.insert_or_assign(tensor.name(), relax::MakeConstant(std::move(data)));
    }
    return OkStatus();
  }

  Status AddInputs() {
    for (const auto& input : graph_.input()) {
      if (constants_.contains(input.name())) continue;
      StatusOr<relax::TensorStructInfo> info = InputInfo(input);
      if (!info.ok()) return info.status().WithContext(fmt::format("input \"{}\"", input.name()));
      if (values_.contains(input.name()))
        return InvalidArgument(fmt::format("input \"{}\" stands twice", input.name()));
      values_.insert_or_assign(input.name(), builder_.builder().Param(input.name(), *std::move(info)));
      input_names_.push_back(input.name());
    }
    return OkStatus();
  }

  StatusOr<relax::TensorStructInfo> InputInfo(const onnx::ValueInfoProto& input) const {
    if (!input.type().has_tensor_type()) return InvalidArgument("it is no tensor");
    const auto& type = input.type().tensor_type();
    ASSIGN_OR_RETURN(const DataType dtype, DataTypeFromOnnx(type.elem_type()));
    std::vector<int64_t> shape;
    for (const auto& dim : type.shape().dim()) shape.push_back(dim.dim_value());
    const auto given = options_.input_shapes.find(input.name());
    if (given != options_.input_shapes.end()) {
      const bool fits = !type.has_shape() || given->second.size() == shape.size();
      if (!fits)
        return InvalidArgument(
            fmt::format("--input-shape has {} extents, the model has {}", given->second.size(), shape.size()));
      for (size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] > 0 && given->second[i] != shape[i])
          return InvalidArgument(
              fmt::format("--input-shape says {} for dimension {}, the model fixes {}", given->second[i], i, shape[i]));
      }
      shape = given->second;
    }
    if (shape.size() > 16) return InvalidArgument(fmt::format("{} dimensions, at most 16", shape.size()));
    const std::optional<int64_t> count = relax::ElementCount(shape);
    if (!count || *count > INT32_MAX || *count == 0)
      return InvalidArgument(fmt::format("shape [{}] is empty, negative or too large", fmt::join(shape, ", ")));
    return relax::MakeTensorInfo(shape, dtype);
  }

  Status Translate(const onnx::NodeProto& proto) {
    return TranslateNode(proto).WithContext(fmt::format("{} node \"{}\"", proto.op_type(), NodeName(proto)));
  }

  Status TranslateNode(const onnx::NodeProto& proto) {
    std::vector<std::optional<Expr>> inputs;
    for (const std::string& name : proto.input()) {
      const auto found = values_.find(name);
      if (!name.empty() && found == values_.end())
        return InvalidArgument(fmt::format("input \"{}\" is made by no node before it", name));
      inputs.push_back(name.empty() ? std::nullopt : std::optional(found->second));
    }
    const OnnxNode node(proto, opset_, std::move(inputs), builder_);
    NodeOutputs outputs = FindOnnxOperator(proto.op_type())->translate(node);
    RETURN_IF_ERROR(node.attr_status());
    if (!outputs.ok()) return outputs.status();
    RETURN_IF_ERROR(node.CheckAllAttributesRead());
    for (int i = 0; i < proto.output_size(); ++i) {
      if (proto.output(i).empty()) continue;
      if (static_cast<size_t>(i) >= outputs->size())
        return OnnxNode::Error(fmt::format("output {} (\"{}\") is not supported", i, proto.output(i)));
      if (!values_.emplace(proto.output(i), (*outputs)[i]).second)
        return OnnxNode::Error(fmt::format("output \"{}\" has been made before", proto.output(i)));
    }
    return OkStatus();
  }

  // What the model says about an output is what its nodes give: else an operator is read in another way than its
  // exporter meant it.
  static Status CheckDeclared(const onnx::ValueInfoProto& output, const Expr& result) {
    const auto* info = result.struct_info().As<relax::TensorStructInfo>();
    const std::optional<std::vector<int64_t>> shape = relax::ConstantShapeOf(result.struct_info());
    if (info == nullptr || !shape || !output.type().has_tensor_type()) return OkStatus();
    const auto& declared = output.type().tensor_type();
    const StatusOr<DataType> type = DataTypeFromOnnx(declared.elem_type());
    bool is_same = !type.ok() || *type == info->dtype;
    const auto& dims = declared.shape().dim();
    if (declared.has_shape()) is_same = is_same && static_cast<size_t>(dims.size()) == shape->size();
    for (int i = 0; is_same && declared.has_shape() && i < dims.size(); ++i)
      is_same = dims[i].dim_value() <= 0 || dims[i].dim_value() == (*shape)[static_cast<size_t>(i)];
    if (is_same) return OkStatus();
    std::vector<int64_t> said;
    for (const auto& dim : dims) said.push_back(dim.dim_value());
    return InvalidArgument(fmt::format(
        "output \"{}\" is declared as {} [{}], its nodes give {} [{}]; correct the declaration", output.name(),
        type.ok() ? type->ToString() : "?", fmt::join(said, ", "), info->dtype.ToString(), fmt::join(*shape, ", ")));
  }

  StatusOr<relax::IRModule> Finish() {
    std::vector<Expr> results;
    std::vector<Attr> names;
    for (const auto& output : graph_.output()) {
      const auto found = values_.find(output.name());
      if (found == values_.end())
        return InvalidArgument(fmt::format("output \"{}\" is made by no node", output.name()));
      RETURN_IF_ERROR(CheckDeclared(output, found->second));
      results.push_back(found->second);
      names.emplace_back(output.name());
    }
    if (results.empty()) return InvalidArgument("the graph has no outputs");
    AttrMap attrs = {{"input_names", std::vector<Attr>(input_names_.begin(), input_names_.end())},
                     {"output_names", std::move(names)}};
    std::vector<Attr> frozen;
    for (const auto& input : graph_.input())
      if (constants_.contains(input.name()) && model_.ir_version() >= kDefaultsSince) frozen.emplace_back(input.name());
    if (!frozen.empty()) attrs.emplace("frozen_inputs", std::move(frozen));
    relax::IRModule module;
    const Expr result = results.size() == 1 ? results[0] : relax::MakeTuple(results);
    module.functions.push_back(builder_.builder().Finish(std::string(relax::kMainFunction), result, std::move(attrs)));
    return module;
  }

  const onnx::GraphProto& graph_;
  const onnx::ModelProto& model_;
  const OnnxImportOptions& options_;
  GraphBuilder builder_;
  int64_t opset_ = 1;
  std::set<std::string> constants_;  // Names of initializers.
  std::map<std::string, Expr> values_;
  std::vector<std::string> input_names_;
};

}  // namespace

StatusOr<relax::IRModule> ImportOnnxBytes(std::string_view bytes, std::string_view name,
                                          const OnnxImportOptions& options) {
  const std::string context = fmt::format("import {}", name);
  onnx::ModelProto model;
  if (bytes.size() > kMaxFileBytes || !model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument(fmt::format("{}: no valid ONNX model ({} bytes); the file is truncated or of another kind",
                                       context, bytes.size()));
  }
  if (!model.has_graph())
    return InvalidArgument(fmt::format("{}: no graph inside; the file is truncated or of another kind", context));
  StatusOr<relax::IRModule> module = Importer(model, options).Import();
  if (!module.ok()) return module.status().WithContext(context);
  return module;
}

StatusOr<relax::IRModule> ImportOnnx(const std::string& path, const OnnxImportOptions& options) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::not_found)
    return NotFound(fmt::format("import {}: no such file; check its name", path));
  if (type != std::filesystem::file_type::regular) {
    return InvalidArgument(
        fmt::format("import {}: {}; name an .onnx file", path,
                    type == std::filesystem::file_type::directory ? "it is a folder" : "it is no regular file"));
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) return NotFound(fmt::format("import {}: the file cannot be read; check its permissions", path));
  if (static_cast<size_t>(size) > kMaxFileBytes)
    return InvalidArgument(fmt::format("import {}: {} bytes, an ONNX file has at most 2 GiB", path, size));
  std::string bytes(static_cast<size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(bytes.data(), size)) return Unavailable(fmt::format("import {}: read failed", path));
  return ImportOnnxBytes(bytes, path, options);
}

}  // namespace lathe
