#include "compiler/import/tvm/node_graph.h"

#include <fmt/format.h>

#include <charconv>

#include "support/status_macros.h"

namespace lathe {
namespace {

// tirx.For -> For, s_tir.SBlockRealize -> BlockRealize, ir.TensorLoad -> BufferLoad, runtime.String -> String.
std::string PlainType(const std::string& key) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"SBlock", "Block"},
                                                                             {"SBlockRealize", "BlockRealize"},
                                                                             {"TensorLoad", "BufferLoad"},
                                                                             {"TensorRegion", "BufferRegion"},
                                                                             {"int", "Int"},
                                                                             {"float", "Float"},
                                                                             {"bool", "Bool"},
                                                                             {"BoxInt", "Int"},
                                                                             {"BoxFloat", "Float"},
                                                                             {"BoxBool", "Bool"}};
  const std::string name = key.substr(key.rfind('.') + 1);
  for (const auto& [theirs, plain] : kNames)
    if (name == theirs) return std::string(plain);
  return name;
}

template <typename T>
const T* Find(const TvmMap& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() ? nullptr : found->second.As<T>();
}

template <typename T>
std::optional<T> ParseNumber(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

StatusOr<NodeGraph> NodeGraph::Read(std::string_view text) {
  ASSIGN_OR_RETURN(const TvmJson json, ParseTvmJson(text));
  const TvmMap* graph = json.As<TvmMap>();
  const TvmList* nodes = graph == nullptr ? nullptr : Find<TvmList>(*graph, "nodes");
  if (nodes == nullptr || nodes->empty()) return InvalidArgument("read TVM's nodes: \"nodes\", a list, is required");
  const int64_t* today = Find<int64_t>(*graph, "root_index");
  const int64_t* old = Find<int64_t>(*graph, "root");
  const int64_t* root = today != nullptr ? today : old;
  if (root == nullptr || *root < 0 || *root >= static_cast<int64_t>(nodes->size()))
    return InvalidArgument("read TVM's nodes: \"root_index\" or \"root\" does not name one of them");
  NodeGraph result;
  result.root_ = static_cast<int>(*root);
  result.is_old_ = today == nullptr;
  for (const TvmJson& node : *nodes) {
    const TvmMap* map = node.As<TvmMap>();
    if (map == nullptr) return InvalidArgument(fmt::format("read TVM's nodes, node {}: no map", result.size()));
    RETURN_IF_ERROR(result.is_old_ ? result.AddOldNode(*map, nodes->size()) : result.AddNode(*map, nodes->size()));
  }
  return result;
}

Status NodeGraph::ReadItems(const TvmJson& json, size_t count, Node& node) const {
  const TvmList* list = json.As<TvmList>();
  if (list == nullptr) return InvalidArgument(fmt::format("read TVM's nodes, node {}: data is no list", size()));
  for (const TvmJson& item : *list) {
    const int64_t* index = item.As<int64_t>();
    if (index == nullptr || *index < 0 || *index >= static_cast<int64_t>(count))
      return InvalidArgument(fmt::format("read TVM's nodes, node {}: data names no node", size()));
    node.items.push_back(static_cast<int>(*index));
  }
  return OkStatus();
}

Status NodeGraph::AddNode(const TvmMap& json, size_t count) {
  const std::string* type = Find<std::string>(json, "type");
  if (type == nullptr) return InvalidArgument(fmt::format("read TVM's nodes, node {}: no \"type\"", size()));
  Node node{PlainType(*type), {}, {}, {}, {}};
  const auto data = json.find("data");
  if (data != json.end()) {
    if (const TvmMap* fields = data->second.As<TvmMap>())
      node.fields = *fields;
    else if (data->second.As<TvmList>() != nullptr)
      RETURN_IF_ERROR(ReadItems(data->second, count, node));
    else
      node.value = data->second;
  }
  nodes_.push_back(std::move(node));
  return OkStatus();
}

Status NodeGraph::AddOldNode(const TvmMap& json, size_t count) {
  const std::string* type = Find<std::string>(json, "type_key");
  if (type == nullptr) return InvalidArgument(fmt::format("read TVM's nodes, node {}: no \"type_key\"", size()));
  Node node{PlainType(*type), {}, {}, {}, {}};
  if (const TvmMap* fields = Find<TvmMap>(json, "attrs")) node.fields = *fields;
  if (const std::string* text = Find<std::string>(json, "repr_str")) node.value = *text;
  const bool is_empty_text = node.type == "String" && json.count("repr_str") == 0 && json.count("repr_b64") == 0;
  if (is_empty_text) node.value = std::string();
  if (const auto data = json.find("data"); data != json.end()) RETURN_IF_ERROR(ReadItems(data->second, count, node));
  if (const TvmList* keys = Find<TvmList>(json, "keys")) {
    for (const TvmJson& key : *keys) {
      if (key.As<std::string>() == nullptr || keys->size() != node.items.size())
        return InvalidArgument(fmt::format("read TVM's nodes, node {}: keys are not one text for each value", size()));
      node.keys.push_back(*key.As<std::string>());
    }
  }
  nodes_.push_back(std::move(node));
  return OkStatus();
}

Status NodeGraph::Error(int node, std::string_view why) const {
  return InvalidArgument(fmt::format("read TVM's nodes, node {} ({}): {}", node, TypeOf(node), why));
}

StatusOr<int64_t> NodeGraph::Int(int node, std::string_view field) const {
  const auto found = nodes_[node].fields.find(std::string(field));
  if (found == nodes_[node].fields.end()) return Error(node, fmt::format("field \"{}\" is missing", field));
  if (const int64_t* value = found->second.As<int64_t>()) return *value;
  if (const bool* value = found->second.As<bool>()) return int64_t{*value};
  if (const std::string* text = found->second.As<std::string>(); is_old_ && text != nullptr)
    if (const std::optional<int64_t> value = ParseNumber<int64_t>(*text)) return *value;
  return Error(node, fmt::format("field \"{}\" is no integer", field));
}

StatusOr<int> NodeGraph::Ref(int node, std::string_view field) const {
  const auto found = nodes_[node].fields.find(std::string(field));
  if (found != nodes_[node].fields.end()) {
    const std::string* text = found->second.As<std::string>();
    if (text != nullptr && is_old_ && *text == "null") return 0;
  }
  ASSIGN_OR_RETURN(const int64_t index, Int(node, field));
  if (index < 0 || index >= size()) return Error(node, fmt::format("field \"{}\" names no node", field));
  return static_cast<int>(index);
}

StatusOr<double> NodeGraph::Float(int node, std::string_view field) const {
  const auto found = nodes_[node].fields.find(std::string(field));
  if (found == nodes_[node].fields.end()) return Error(node, fmt::format("field \"{}\" is missing", field));
  if (const double* value = found->second.As<double>()) return *value;
  if (const int64_t* value = found->second.As<int64_t>()) return static_cast<double>(*value);
  if (const std::string* text = found->second.As<std::string>())
    if (const std::optional<double> value = ParseNumber<double>(*text)) return *value;
  return Error(node, fmt::format("field \"{}\" is no number", field));
}

StatusOr<std::string> NodeGraph::Text(int node, std::string_view field) const {
  const auto found = nodes_[node].fields.find(std::string(field));
  const std::string* text = found == nodes_[node].fields.end() ? nullptr : found->second.As<std::string>();
  if (text == nullptr) return Error(node, fmt::format("field \"{}\" is no text", field));
  return *text;
}

StatusOr<std::string> NodeGraph::StringOf(int node) const {
  const std::string* text = ValueOf(node).As<std::string>();
  if (text == nullptr) return Error(node, "a text is required");
  return *text;
}

// v0.18 writes the type into the node, 0.27 names it.
StatusOr<std::string> NodeGraph::Dtype(int node) const {
  if (!Has(node, "ty") && !Has(node, "dtype")) return Error(node, "it has no type");
  if (Has(node, "dtype") && TypeOf(node) != "BufferType") return Text(node, "dtype");
  ASSIGN_OR_RETURN(const int type, Ref(node, Has(node, "dtype") ? "dtype" : "ty"));
  return Text(type, "dtype");
}

StatusOr<int64_t> NodeGraph::IntValue(int node, std::string_view field) const {
  if (is_old_) return Int(node, field);
  ASSIGN_OR_RETURN(const int inner, Ref(node, field));
  const int64_t* value = ValueOf(inner).As<int64_t>();
  const bool* flag = ValueOf(inner).As<bool>();
  if (value == nullptr && flag == nullptr) return Error(node, fmt::format("field \"{}\" is no integer", field));
  return value != nullptr ? *value : int64_t{*flag};
}

}  // namespace lathe
