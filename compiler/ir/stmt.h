// Statements, blocks and functions of TensorIR.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/ir/attr.h"
#include "compiler/ir/expr.h"

namespace lathe {

struct StmtNode;
struct BlockNode;

class Stmt {
 public:
  template <typename T>
    requires requires { T::Fields(); }
  Stmt(T alternative);  // NOLINT: any alternative is a statement
  Stmt(const Stmt&) = default;
  Stmt(Stmt&) = default;
  Stmt(Stmt&&) = default;
  Stmt& operator=(const Stmt&) = default;
  Stmt& operator=(Stmt&&) = default;
  const StmtNode& node() const { return *node_; }
  const StmtNode* get() const { return node_.get(); }
  template <typename T>
  const T* As() const;
  template <typename T>
  T& Mutable();  // The alternative, in place if this is the only handle, else of a copy. CHECKs the alternative.
  StmtNode& MutableNode();
  bool same_as(const Stmt& other) const { return node_.same_as(other.node_); }
  static Stmt Of(const StmtNode& node);  // Another handle of a node that is alive.

 private:
  explicit Stmt(Ref<StmtNode> node) : node_(std::move(node)) {}
  Ref<StmtNode> node_;
};

// The unit a schedule moves. Handle to a BlockNode; identity survives only while it is not rebuilt.
class Block {
 public:
  explicit Block(BlockNode node);
  const BlockNode* operator->() const { return node_.get(); }
  const BlockNode& operator*() const { return *node_; }
  const BlockNode* get() const { return node_.get(); }
  BlockNode& Mutable() { return node_.Mutable(); }
  bool same_as(const Block& other) const { return node_.same_as(other.node_); }

 private:
  Ref<BlockNode> node_;
};

struct Range {  // [min, min + extent)
  Expr min, extent;
  static constexpr auto Fields() { return std::tuple(Field("min", &Range::min), Field("extent", &Range::extent)); }
};
struct BufferRegion {  // One range per dimension.
  Buffer buffer;
  std::vector<Range> region;
  static constexpr auto Fields() {
    return std::tuple(Field("buffer", &BufferRegion::buffer), Field("region", &BufferRegion::region));
  }
};
struct MatchBufferRegion {  // `buffer` is a view of `source`.
  Buffer buffer;
  BufferRegion source;
  static constexpr auto Fields() {
    return std::tuple(Field("source", &MatchBufferRegion::source), DefField("buffer", &MatchBufferRegion::buffer));
  }
};

enum class IterKind : uint8_t { kSpatial, kReduce, kScan, kOpaque };
struct IterVar {  // Takes values in [min, min + extent).
  Range domain;
  Var var;
  IterKind kind = IterKind::kSpatial;
  static constexpr auto Fields() {
    return std::tuple(Field("domain", &IterVar::domain), DefField("var", &IterVar::var), Field("kind", &IterVar::kind));
  }
};

enum class ForKind : uint8_t { kSerial, kParallel, kVectorized, kUnrolled, kThreadBinding };
// Runs `body` once for each value of `loop_var` in [min, min + extent).
struct For {
  Var loop_var;
  Expr min, extent;
  ForKind kind = ForKind::kSerial;
  std::string thread;  // "threadIdx.x" ... for kThreadBinding, else empty.
  AttrMap annotations;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(Field("min", &For::min), Field("extent", &For::extent), DefField("loop_var", &For::loop_var),
                      Field("kind", &For::kind), Field("thread", &For::thread), Field("annotations", &For::annotations),
                      Field("body", &For::body));
  }
};
// Runs `block` with its iter vars bound to `iter_values`, where `predicate` holds.
struct BlockRealize {
  std::vector<Expr> iter_values;
  Expr predicate;
  Block block;
  static constexpr auto Fields() {
    return std::tuple(Field("iter_values", &BlockRealize::iter_values), Field("predicate", &BlockRealize::predicate),
                      Field("block", &BlockRealize::block));
  }
};
struct BufferStore {
  Buffer buffer;
  Expr value;
  std::vector<Expr> indices;
  static constexpr auto Fields() {
    return std::tuple(Field("buffer", &BufferStore::buffer), Field("value", &BufferStore::value),
                      Field("indices", &BufferStore::indices));
  }
};
struct IfThenElse {
  Expr condition;
  Stmt then_case;
  std::optional<Stmt> else_case;
  static constexpr auto Fields() {
    return std::tuple(Field("condition", &IfThenElse::condition), Field("then_case", &IfThenElse::then_case),
                      Field("else_case", &IfThenElse::else_case));
  }
};
struct Seq {  // Two or more after Flatten; never directly inside another Seq.
  std::vector<Stmt> stmts;
  static constexpr auto Fields() { return std::tuple(Field("stmts", &Seq::stmts)); }
};
struct Evaluate {
  Expr value;
  static constexpr auto Fields() { return std::tuple(Field("value", &Evaluate::value)); }
};
struct LetStmt {
  Expr value;
  Var var;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(Field("value", &LetStmt::value), DefField("var", &LetStmt::var), Field("body", &LetStmt::body));
  }
};
// `buffer` lives during `body` (lowered form of Block::alloc_buffers; T.decl_buffer).
struct Allocate {
  Buffer buffer;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(DefField("buffer", &Allocate::buffer), Field("body", &Allocate::body));
  }
};
struct AssertStmt {  // Ends the kernel with `message` unless `condition` holds.
  Expr condition;
  std::string message;
  static constexpr auto Fields() {
    return std::tuple(Field("condition", &AssertStmt::condition), Field("message", &AssertStmt::message));
  }
};
struct While {
  Expr condition;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(Field("condition", &While::condition), Field("body", &While::body));
  }
};

using StmtVariant =
    std::variant<For, BlockRealize, BufferStore, IfThenElse, Seq, Evaluate, LetStmt, Allocate, AssertStmt, While>;
struct StmtNode : Counted {
  StmtVariant value;
  template <typename T>
  explicit StmtNode(T alternative) : value(std::move(alternative)) {}
  StmtNode(const StmtNode&) = default;
};

struct BlockNode : Counted {
  std::string name;
  std::vector<IterVar> iter_vars;
  std::vector<BufferRegion> reads, writes;  // What the block touches, in terms of its iter vars.
  std::vector<Buffer> alloc_buffers;        // Live during the block.
  std::vector<MatchBufferRegion> match_buffers;
  AttrMap annotations;
  std::optional<Stmt> init;  // Runs where every reduction IterVar is at its minimum.
  Stmt body;                 // Reaches outer variables only through iter_vars.
  static constexpr auto Fields() {
    return std::tuple(Field("name", &BlockNode::name), Field("iter_vars", &BlockNode::iter_vars),
                      DefField("alloc_buffers", &BlockNode::alloc_buffers), Field("reads", &BlockNode::reads),
                      Field("writes", &BlockNode::writes), Field("match_buffers", &BlockNode::match_buffers),
                      Field("annotations", &BlockNode::annotations), Field("init", &BlockNode::init),
                      Field("body", &BlockNode::body));
  }
};

// A parameter: a buffer (T.Buffer, or T.handle with T.match_buffer) or a scalar variable.
using Param = std::variant<Buffer, Var>;

// One kernel. Scheduled, built and measured as a whole. After Complete (script/complete.h) `body` is a BlockRealize of
// the root block, named "root", without iter vars; after lowering it is plain statements.
struct PrimFunc {
  std::string name;  // Global symbol.
  std::vector<Param> params;
  AttrMap attrs;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(Field("name", &PrimFunc::name), DefField("params", &PrimFunc::params),
                      Field("attrs", &PrimFunc::attrs), Field("body", &PrimFunc::body));
  }
};

template <typename T>
  requires requires { T::Fields(); }
Stmt::Stmt(T alternative) : node_(new StmtNode(std::move(alternative))) {}
template <typename T>
const T* Stmt::As() const {
  return std::get_if<T>(&node_->value);
}
inline StmtNode& Stmt::MutableNode() { return node_.Mutable(); }
// No node is made constant: handles only show it so.
inline Stmt Stmt::Of(const StmtNode& node) { return Stmt(Ref<StmtNode>(const_cast<StmtNode*>(&node))); }
template <typename T>
T& Stmt::Mutable() {
  T* alternative = std::get_if<T>(&node_.Mutable().value);
  CHECK(alternative != nullptr) << "statement is another alternative";
  return *alternative;
}

// One statement from several: nested sequences are spliced, one alone is itself. `stmts` is not empty.
Stmt MakeSeq(std::vector<Stmt> stmts);
Stmt MakeFor(Var loop_var, Expr extent, Stmt body, ForKind kind = ForKind::kSerial);  // From 0.
Stmt MakeStore(const Buffer& buffer, Expr value, std::vector<Expr> indices);
Buffer MakeBuffer(std::string name, std::vector<Expr> shape, DataType dtype = DataType::Float(32),
                  std::string scope = "global");
BufferRegion FullRegion(const Buffer& buffer);
// Constant extents of a shape or nullopt where one is symbolic.
std::optional<std::vector<int64_t>> ConstantShape(const std::vector<Expr>& shape);

}  // namespace lathe
