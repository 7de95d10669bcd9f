// TVM's nodes as JSON (docs/formats/tvm_records.md): a list, in which fields name others by number. v0.18 writes
// {"type_key","attrs" of texts,"keys","data","repr_str"} each, 0.27 {"type","data"}; here both look the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/tvm/tvm_json.h"

namespace lathe {

class NodeGraph {
 public:
  static StatusOr<NodeGraph> Read(std::string_view text);

  int root() const { return root_; }
  int size() const { return static_cast<int>(nodes_.size()); }
  // What follows takes numbers of nodes; 0 is None.
  //
  // Without the module, and with v0.18's names: tir.For, tirx.For and s_tir.SBlock are "For" and "Block".
  const std::string& TypeOf(int node) const { return nodes_[node].type; }
  // Fields. InvalidArgument, with node and field, if there is none or it is of another kind.
  StatusOr<int> Ref(int node, std::string_view field) const;  // Of a node.
  bool Has(int node, std::string_view field) const { return nodes_[node].fields.count(std::string(field)) != 0; }
  StatusOr<int64_t> Int(int node, std::string_view field) const;
  StatusOr<double> Float(int node, std::string_view field) const;
  StatusOr<std::string> Text(int node, std::string_view field) const;
  // What an array holds; a map's keys and values in turns, keys that are texts in `keys` instead.
  const std::vector<int>& Items(int node) const { return nodes_[node].items; }
  const std::vector<std::string>& Keys(int node) const { return nodes_[node].keys; }
  // Strings, operators (by name), and integers, floats and booleans that stand alone.
  const TvmJson& ValueOf(int node) const { return nodes_[node].value; }
  StatusOr<std::string> StringOf(int node) const;
  StatusOr<std::string> Dtype(int node) const;  // Of an expression or a buffer's type.
  // An integer that stands inside of an IntImm: v0.18 writes it into the field, 0.27 as a node.
  StatusOr<int64_t> IntValue(int node, std::string_view field) const;

  // "read TVM's nodes, node 12 (For): why".
  Status Error(int node, std::string_view why) const;

 private:
  struct Node {
    std::string type;
    TvmMap fields;
    std::vector<int> items;
    std::vector<std::string> keys;
    TvmJson value;
  };
  Status AddNode(const TvmMap& json, size_t count);  // Of 0.27.
  Status AddOldNode(const TvmMap& json, size_t count);
  Status ReadItems(const TvmJson& json, size_t count, Node& node) const;

  std::vector<Node> nodes_;
  int root_ = 0;
  bool is_old_ = false;
};

}  // namespace lathe
