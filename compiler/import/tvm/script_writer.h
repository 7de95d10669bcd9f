// A PrimFunc of TVM's nodes as TVMScript. One writer writes one function.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/import/tvm/node_graph.h"

namespace lathe {

class TvmScriptWriter {
 public:
  explicit TvmScriptWriter(const NodeGraph& graph) : graph_(graph) {}

  Status WriteFunction(int func, const std::string& name);
  std::string TakeText() { return std::move(text_); }

 private:
  // A suite: what is named inside is forgotten where it ends.
  class Suite;

  // ---- Names
  void Forget(size_t names);
  StatusOr<std::string> Define(int node, int name_node);
  StatusOr<std::string> NameOf(int node) const;
  void Line(const std::string& text);

  // ---- Functions and buffers
  StatusOr<std::string> WriteParam(int param, int buffer_map, std::vector<int>& to_match);
  StatusOr<int> BufferOfParam(int param, int buffer_map) const;
  StatusOr<int> LayoutOf(int buffer) const;  // The node that has shape and strides.
  Status DeclareVars(int buffer);            // Of shape, strides and offset, those that are new.
  Status DeclareVarsOf(int expr);
  StatusOr<std::string> BufferArguments(int buffer);
  StatusOr<std::string> ScopeOf(int layout) const;
  Status WriteAlloc(int buffer);
  Status WriteFuncAttrs(int attrs);

  // ---- Statements
  Status WriteStmt(int stmt);
  Status WriteFor(int loop);
  Status WriteBlock(int realize);
  Status WriteBlockHead(int realize, int block);
  Status WriteIterVars(int realize, int block);
  Status WriteRegions(const char* function, int regions);
  Status WriteMatchBuffers(int matches);
  Status WriteStore(int store);
  Status WriteLet(int let);
  Status WriteIf(int branch);

  // ---- Expressions
  Status Enter(int node);
  StatusOr<std::string> Expr(int expr);
  StatusOr<std::string> ExprOf(int expr, const std::string& type);
  StatusOr<std::string> Constant(int expr);
  StatusOr<std::string> TextOf(int text);
  StatusOr<std::string> Call(int call);
  StatusOr<std::string> Function(std::string_view name, int node, std::initializer_list<std::string_view> fields);
  StatusOr<std::string> List(int array);  // a, b, c
  StatusOr<std::string> Element(int buffer, int indices);
  StatusOr<std::string> Region(int region);
  StatusOr<std::string> Attribute(int value);
  StatusOr<std::string> Attributes(int map);  // {"key": value}
  StatusOr<bool> IsConstInt(int expr, int64_t value) const;

  const NodeGraph& graph_;
  std::string text_;
  int indent_ = 0;
  int depth_ = 0;                                  // Of nested expressions and statements.
  int written_ = 0;                                // Nodes so far; one that is shared counts each time.
  std::unordered_map<int, std::string> names_;     // By node of a variable or buffer.
  std::vector<std::pair<int, std::string>> open_;  // What `names_` holds, oldest first.
};

}  // namespace lathe
