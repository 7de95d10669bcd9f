// Changes one field of a function, found through the Fields() of its nodes, so that a new field is tested without a
// line here.
#pragma once

#include <map>

#include "compiler/ir/visitor.h"

namespace lathe {

struct MutatedFunc {
  PrimFunc func;
  std::string field;
  bool is_unnamed;  // The canonical text does not have it: a block's name, a promise.
};

// Every number, enum, text, type, attribute, optional and list that may be changed by itself and leave the function
// well-typed. Names of variables, buffers and functions are none: equality ignores them.
class FieldMutator {
 public:
  explicit FieldMutator(int target) : target_(target) {}
  int seen() const { return seen_; }
  MutatedFunc Run(const PrimFunc& func) {
    CountAccesses(func.body);
    static_cast<void>(&FieldMutator::NameFirst);
    PrimFunc copy = Rewrite(func, FieldRole::kUse, "func");
    return {std::move(copy), field_, is_unnamed_};
  }

 private:
  // Clang 19 makes no code for what a generic lambda is the first to name.
  void NameFirst() {
    Rewrite(std::vector<Expr>(), FieldRole::kUse, "");
    Rewrite(std::vector<Stmt>(), FieldRole::kUse, "");
    Rewrite(std::optional<Expr>(), FieldRole::kUse, "");
    Rewrite(std::optional<Stmt>(), FieldRole::kUse, "");
  }
  template <typename T>
  static constexpr bool kHasFields = requires { T::Fields(); };

  bool Hit(std::string_view field) {
    if (seen_++ != target_) return false;
    field_ = field;
    return true;
  }
  void CountAccesses(const Stmt& body) {
    const std::function<void(const Expr&)> on_expr = [&](const Expr& e) {
      if (const BufferLoad* load = e.As<BufferLoad>()) ++accesses_[load->buffer.get()];
    };
    const std::function<void(const Stmt&)> on_stmt = [&](const Stmt& s) {
      if (const BufferStore* store = s.As<BufferStore>()) ++accesses_[store->buffer.get()];
      if (const BlockRealize* realize = s.As<BlockRealize>()) {
        for (const MatchBufferRegion& match : realize->block->match_buffers)
          ++accesses_[match.buffer.get()], ++accesses_[match.source.buffer.get()];
      }
    };
    PostOrderVisit(body, on_expr);
    PostOrderVisit(body, on_stmt);
  }

  template <typename Node>
  Node RewriteFields(const Node& node) {
    Node copy = node;
    ForEachField(copy, [&](const auto& field, auto& value) {
      if (field.name != "name") value = Rewrite(value, field.role, field.name);
    });
    return copy;
  }
  template <typename T>
    requires kHasFields<T>
  T Rewrite(const T& node, FieldRole, std::string_view) {
    return RewriteFields(node);
  }
  Expr Rewrite(const Expr& e, FieldRole, std::string_view field) {
    if (IsVar(e)) return Rewrite(Var(e), FieldRole::kUse, field);
    if (const IntImm* imm = e.As<IntImm>()) {
      if (e.dtype().code == DataType::Code::kHandle || !Hit(field)) return e;
      return IntConst(e.dtype(), e.dtype().is_bool() ? 1 - imm->value : imm->value == 1 ? 2 : 1);
    }
    if (const Binary* binary = e.As<Binary>(); binary != nullptr && Hit("op")) {
      Binary changed = RewriteFields(*binary);
      changed.op = Neighbour(changed.op);
      return Expr::Make(e.dtype(), changed);
    }
    if (const Call* call = e.As<Call>(); call != nullptr && call->args.size() == 1 && e.dtype().is_float() &&
                                         e.dtype() == call->args[0].dtype() && Hit("op")) {
      return MakeCall(e.dtype(), call->op->name == "sin" ? "cos" : "sin", RewriteFields(*call).args);
    }
    return VisitNode(e, [&](const auto& node) { return Expr::Make(e.dtype(), RewriteFields(node)); });
  }
  static BinaryOp Neighbour(BinaryOp op) {
    if (op == BinaryOp::kAnd || op == BinaryOp::kOr) return op == BinaryOp::kAnd ? BinaryOp::kOr : BinaryOp::kAnd;
    if (op >= BinaryOp::kEQ) return op == BinaryOp::kGE ? BinaryOp::kEQ : BinaryOp(int(op) + 1);
    return op == BinaryOp::kMax ? BinaryOp::kAdd : BinaryOp(int(op) + 1);
  }
  Var Rewrite(const Var& var, FieldRole, std::string_view) {
    const auto found = data_.find(var.get());
    return found == data_.end() ? var : Var(found->second);
  }
  Stmt Rewrite(const Stmt& s, FieldRole, std::string_view) {
    if (const AllocateConst* allocate = s.As<AllocateConst>()) return RewriteData(*allocate);
    return std::visit([&](const auto& node) -> Stmt { return RewriteFields(node); }, s.node().value);
  }
  Block Rewrite(const Block& block, FieldRole, std::string_view) {
    BlockNode node = RewriteFields(*block);
    if (node.name != "root" && Hit("block.name")) {
      node.name += "_changed";
      is_unnamed_ = true;
    }
    return Block(std::move(node));
  }
  Buffer Rewrite(const Buffer& buffer, FieldRole role, std::string_view) {
    if (role == FieldRole::kUse) {
      const auto found = buffers_.find(buffer.get());
      return found == buffers_.end() ? buffer : found->second;
    }
    BufferNode node = RewriteFields(*buffer);
    if (accesses_[buffer.get()] == 0 && Hit("buffer.dtype"))
      node.dtype = node.dtype == DataType::Float(32) ? DataType::Int(8) : DataType::Float(32);
    if (accesses_[buffer.get()] == 0 && Hit("buffer.shape")) {
      node.shape.push_back(Expr(3));
      node.strides.clear();
    }
    if (Hit("buffer.strides")) {
      if (!node.strides.empty() || node.shape.empty()) {
        node.strides.clear();
        node.elem_offset = MakeBinary(BinaryOp::kAdd, node.elem_offset, IntConst(node.elem_offset.dtype(), 1));
      } else {
        node.strides.assign(node.shape.size(), Expr(1));
      }
    }
    if (role == FieldRole::kDef && (node.dtype != buffer->dtype || node.scope != buffer->scope))
      node.data = UnsetData();  // Its type says both.
    const Buffer changed(std::move(node));
    data_.insert_or_assign(buffer->data.get(), changed->data);
    buffers_.insert_or_assign(buffer.get(), changed);
    return changed;
  }
  AttrTarget Rewrite(const AttrTarget& target, FieldRole role, std::string_view field) {
    return std::visit([&](const auto& one) -> AttrTarget { return Rewrite(one, role, field); }, target);
  }
  Attr Rewrite(const Attr& attr, FieldRole, std::string_view field) {
    return Hit(field) ? Attr(attr == Attr("changed") ? "again" : "changed") : attr;
  }
  AllocateConst RewriteData(const AllocateConst& node) {  // Its extents say how many there are.
    AllocateConst copy = node;
    copy.data = Rewrite(node.data, FieldRole::kUse, "data");
    copy.annotations = Rewrite(node.annotations, FieldRole::kUse, "annotations");
    copy.body = Rewrite(node.body, FieldRole::kUse, "body");
    return copy;
  }
  ParamBuffer Rewrite(const ParamBuffer& entry, FieldRole, std::string_view field) {
    return {entry.param, Rewrite(entry.buffer, FieldRole::kDef, field)};
  }
  std::vector<Range> Rewrite(const std::vector<Range>& ranges, FieldRole, std::string_view) {
    std::vector<Range> copy;
    for (const Range& range : ranges) copy.push_back(RewriteFields(range));
    return copy;
  }
  template <typename T>
  std::vector<T> Rewrite(const std::vector<T>& items, FieldRole role, std::string_view field) {
    std::vector<T> copy;
    for (const T& item : items) copy.push_back(Rewrite(item, role, field));
    if ((field == "reads" || field == "writes") && !copy.empty() && Hit(field)) copy.pop_back();
    return copy;
  }
  template <typename T>
  std::optional<T> Rewrite(const std::optional<T>& item, FieldRole role, std::string_view field) {
    if constexpr (std::is_same_v<T, DataType>) {  // Of what a function returns.
      return Hit(field) ? std::optional<T>(item ? item->with_lanes(1) == DataType::Int(8) ? DataType::Int(16)
                                                                                          : DataType::Int(8)
                                                : DataType::Int(32))
                        : item;
    } else {
      if (!item || Hit(field)) return std::nullopt;
      return Rewrite(*item, role, field);
    }
  }
  int64_t Rewrite(int64_t value, FieldRole, std::string_view field) {
    const bool is_promise = field == "data_alignment" || field == "offset_factor";  // Lanes: part of a type.
    if (!is_promise || !Hit(field)) return value;
    is_unnamed_ = true;
    return value * 2;
  }
  std::vector<int64_t> Rewrite(const std::vector<int64_t>& axes, FieldRole, std::string_view field) {
    return Hit(field) ? std::vector<int64_t>(axes.size() + 1, 0) : axes;
  }
  BufferType Rewrite(BufferType type, FieldRole, std::string_view field) {
    if (!Hit(field)) return type;
    return type == BufferType::kDefault ? BufferType::kAutoBroadcast : BufferType::kDefault;
  }
  double Rewrite(double value, FieldRole, std::string_view field) {
    return Hit(field) ? value == 1.5 ? 2.5 : 1.5 : value;
  }
  std::string Rewrite(const std::string& text, FieldRole, std::string_view field) {
    if (field == "thread_tag" && text.empty()) return text;  // A block's variable has none.
    return Hit(field) ? text + "x" : text;
  }
  DataType Rewrite(DataType type, FieldRole, std::string_view) { return type; }  // Of buffers, see above.
  const Op* Rewrite(const Op* op, FieldRole, std::string_view) { return op; }
  const PointerType* Rewrite(const PointerType* pointer, FieldRole, std::string_view) { return pointer; }
  bool Rewrite(bool value, FieldRole, std::string_view) { return value; }
  BinaryOp Rewrite(BinaryOp op, FieldRole, std::string_view) { return op; }
  ForKind Rewrite(ForKind kind, FieldRole, std::string_view field) {
    return Hit(field) ? ForKind((int(kind) + 1) % 5) : kind;
  }
  IterKind Rewrite(IterKind kind, FieldRole, std::string_view field) {
    const int count = kind < IterKind::kThreadIndex ? 4 : 10;  // Blocks have four kinds.
    return Hit(field) ? IterKind((int(kind) + 1) % count) : kind;
  }
  AttrMap Rewrite(const AttrMap& attrs, FieldRole, std::string_view field) {
    AttrMap copy = attrs;
    for (auto& [key, value] : copy) {
      if (Hit(field)) value = Attr(value == Attr("changed") ? "again" : "changed");
    }
    if (Hit(field)) copy["new.key"] = Attr(std::vector<Attr>{Attr(1), Attr(0.5)});
    return copy;
  }

  int target_, seen_ = 0;
  std::string field_;
  bool is_unnamed_ = false;
  std::map<const BufferNode*, int> accesses_;
  BufferMap buffers_;
  VarMap data_;
};

inline MutatedFunc MutateField(const PrimFunc& func, int number) { return FieldMutator(number).Run(func); }
inline int CountMutableFields(const PrimFunc& func) {
  FieldMutator counter(-1);
  counter.Run(func);
  return counter.seen();
}

}  // namespace lathe
