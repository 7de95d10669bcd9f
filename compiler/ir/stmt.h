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

enum class ForKind : uint8_t { kSerial, kParallel, kVectorized, kUnrolled, kThreadBinding };
// Whether iterations of such a loop run at once, in threads or lanes; else they follow each other.
constexpr bool IsConcurrent(ForKind kind) { return kind != ForKind::kSerial && kind != ForKind::kUnrolled; }

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
  std::optional<Expr> predicate;  // One boolean per lane of the last index: lanes that are off are not written.
  static constexpr auto Fields() {
    return std::tuple(Field("buffer", &BufferStore::buffer), Field("value", &BufferStore::value),
                      Field("indices", &BufferStore::indices), Field("predicate", &BufferStore::predicate));
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
// `buffer` lives during `body` (lowered form of Block::alloc_buffers; T.decl_buffer without data). TVM 0.18 has an
// Allocate and a DeclBuffer for it; what such a pair says and this does not stays a pair.
struct AllocBuffer {
  Buffer buffer;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(DefField("buffer", &AllocBuffer::buffer), Field("body", &AllocBuffer::body));
  }
};
// Memory for `extents` elements, without a buffer over it yet (T.allocate).
struct Allocate {
  Var buffer_var;
  DataType dtype;
  std::vector<Expr> extents;
  Expr condition;
  AttrMap annotations;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(Field("dtype", &Allocate::dtype), Field("extents", &Allocate::extents),
                      Field("condition", &Allocate::condition), Field("annotations", &Allocate::annotations),
                      DefField("buffer_var", &Allocate::buffer_var), Field("body", &Allocate::body));
  }
};
// As Allocate, holding constants: `data` in row-major order (T.allocate_const).
struct AllocateConst {
  Var buffer_var;
  DataType dtype;
  std::vector<Expr> extents;
  std::vector<Expr> data;
  AttrMap annotations;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(Field("dtype", &AllocateConst::dtype), Field("extents", &AllocateConst::extents),
                      Field("data", &AllocateConst::data), Field("annotations", &AllocateConst::annotations),
                      DefField("buffer_var", &AllocateConst::buffer_var), Field("body", &AllocateConst::body));
  }
};
// What an AttrStmt is about: a value (of any kind, also an expression), a buffer, or an axis, whose variable it
// introduces.
using AttrTarget = std::variant<Attr, Buffer, IterVar>;
// `body` under an attribute. "thread_extent" of an axis with a thread tag runs it once per thread, `value` of them; one
// axis may be launched several times, one after the other.
struct AttrStmt {
  std::string attr_key;
  Expr value;
  AttrTarget node;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(Field("attr_key", &AttrStmt::attr_key), Field("value", &AttrStmt::value),
                      Field("node", &AttrStmt::node), Field("body", &AttrStmt::body));
  }
};
// Another view of memory that is in scope: `buffer` has its data variable.
struct DeclBuffer {
  Buffer buffer;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(DeclareField("buffer", &DeclBuffer::buffer), Field("body", &DeclBuffer::body));
  }
};
// `buffer` lives during `body`, which touches no more of it than `bounds`, where `condition` holds (T.realize): how
// loops of stages say what TensorIR says by AllocBuffer. storage_flatten makes memory of it.
struct BufferRealize {
  Buffer buffer;
  std::vector<Range> bounds;
  Expr condition;
  std::string storage_scope;  // Empty: as the threads around say.
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(Field("bounds", &BufferRealize::bounds), Field("condition", &BufferRealize::condition),
                      Field("storage_scope", &BufferRealize::storage_scope), DefField("buffer", &BufferRealize::buffer),
                      Field("body", &BufferRealize::body));
  }
};
struct Prefetch {  // A hint: this box of `buffer` is read soon.
  Buffer buffer;
  std::vector<Range> bounds;
  static constexpr auto Fields() {
    return std::tuple(Field("buffer", &Prefetch::buffer), Field("bounds", &Prefetch::bounds));
  }
};
struct AssertStmt {  // Ends the kernel with `message` unless `condition` holds, in which case it runs `body`.
  Expr condition;
  std::string message;
  Stmt body;
  static constexpr auto Fields() {
    return std::tuple(Field("condition", &AssertStmt::condition), Field("message", &AssertStmt::message),
                      Field("body", &AssertStmt::body));
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
    std::variant<For, BlockRealize, BufferStore, IfThenElse, Seq, Evaluate, LetStmt, AllocBuffer, AssertStmt, While,
                 DeclBuffer, Allocate, AllocateConst, AttrStmt, BufferRealize, Prefetch>;
struct StmtNode : Counted {
  StmtVariant value;
  template <typename T>
  explicit StmtNode(T alternative) : value(std::move(alternative)) {}
  StmtNode(const StmtNode&) = default;
  static void* operator new(size_t size);
  static void operator delete(void* node);
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

// The parameter `param`, a handle, stands for `buffer`.
struct ParamBuffer {
  Var param;
  Buffer buffer;
  static constexpr auto Fields() {
    return std::tuple(Field("param", &ParamBuffer::param), DefField("buffer", &ParamBuffer::buffer));
  }
};
// What a parameter stands for: its buffer, or itself.
using Param = std::variant<Buffer, Var>;

// One kernel. Scheduled, built and measured as a whole. After Complete (script/complete.h) `body` is a BlockRealize of
// the root block, named "root", without iter vars; after lowering it is plain statements.
struct PrimFunc {
  std::string name;  // Global symbol.
  std::vector<Var> params;
  std::vector<ParamBuffer> buffer_map;  // In the order of `params`; at most one each.
  std::optional<DataType> ret_type;     // nullopt: nothing is returned.
  AttrMap attrs;
  Stmt body;
  bool is_private = false;  // Its name is no symbol that others may call. Not compared, as names are not.
  static constexpr auto Fields() {
    return std::tuple(Field("name", &PrimFunc::name), DefField("params", &PrimFunc::params),
                      Field("buffer_map", &PrimFunc::buffer_map), Field("ret_type", &PrimFunc::ret_type),
                      Field("attrs", &PrimFunc::attrs), Field("body", &PrimFunc::body));
  }
};
// A function of these parameters; each buffer gets a handle "<its name>_handle".
PrimFunc MakePrimFunc(std::string name, const std::vector<Param>& params, Stmt body, AttrMap attrs = {});
const Buffer* FindBuffer(const PrimFunc& func, const Var& param);  // nullptr: it stands for itself.
std::vector<Param> ParamsOf(const PrimFunc& func);                 // What each stands for, in order.
const Buffer& BufferParam(const PrimFunc& func, size_t i);         // CHECKs that parameter `i` is a buffer.

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
// The first region of `buffer`; nullptr: there is none.
const std::vector<Range>* RegionOfBuffer(const std::vector<BufferRegion>& regions, const Buffer& buffer);
// Constant extents of a shape or nullopt where one is symbolic.
std::optional<std::vector<int64_t>> ConstantShape(const std::vector<Expr>& shape);

}  // namespace lathe
