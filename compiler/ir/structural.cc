#include "compiler/ir/structural.h"

#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/memory.h"
#include "compiler/ir/structural_difference.h"
#include "compiler/ir/visitor.h"
#include "support/random.h"

namespace lathe {
namespace {

// Of functions: compared no more than their names.
constexpr const char* kGlobalSymbol = "global_symbol";

AttrMap WithoutSymbol(AttrMap attrs) {
  attrs.erase(kGlobalSymbol);
  return attrs;
}

template <typename T>
concept HasFields = requires { T::Fields(); };

bool SameName(std::string_view field) {
  return field != "name";
}  // Names of variables, buffers, functions do not count.

// In TVM 0.18 a buffer over memory that is there (T.Buffer of a body) is no statement, and T.decl_buffer without memory
// is T.allocate with one: takes what says so out, for those who compare as TVM does.
class DeclarationRemover : public StmtExprMutator {
 public:
  Block operator()(const Block& block) { return VisitBlock(block); }
  Stmt operator()(const Stmt& stmt) { return VisitStmt(stmt); }
  PrimFunc operator()(PrimFunc func) {
    func.body = VisitStmt(func.body);
    return func;
  }
  IRModule operator()(IRModule module) {
    for (PrimFunc& func : module.prim_funcs) func.body = VisitStmt(func.body);
    return module;
  }
  template <typename T>
  const T& operator()(const T& other) {
    return other;
  }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const DeclBuffer* declared = stmt.As<DeclBuffer>()) return VisitStmt(declared->body);
    const AllocBuffer* alloc = stmt.As<AllocBuffer>();
    return alloc == nullptr ? StmtExprMutator::VisitStmt(stmt) : VisitStmt(SplitAllocBuffer(*alloc));
  }
  Expr VisitExpr(const Expr& expr) override { return expr; }
};

std::string KnownScope(const PointerType& pointer) { return pointer.scope.empty() ? "global" : pointer.scope; }

// While all is the same, nothing is written down; from the first difference on, its place, from the inside out.
class Comparer {
 public:
  explicit Comparer(bool map_free_vars = false, bool block_names = true)
      : map_free_vars_(map_free_vars), block_names_(block_names), defining_(map_free_vars) {}
  // Without statements that declare them, buffers over the same memory correspond where they are used first.
  void DeclareByUse() { declares_by_use_ = true; }
  // Of the first difference, from the root.
  std::string Path() const {
    std::string path;
    for (size_t i = path_.size(); i-- > 0;) path += path_[i];
    return path;
  }

  bool Same(const Expr& a, const Expr& b, FieldRole role) {
    if (IsVar(a) || IsVar(b)) return IsVar(a) && IsVar(b) && SameVar(a, b, role == FieldRole::kDef || defining_);
    if (a.dtype() != b.dtype() || a.node().value.index() != b.node().value.index()) return false;
    return VisitNode(a, [&](const auto& x) { return SameNode(x, *b.As<std::decay_t<decltype(x)>>()); });
  }
  bool Same(const Var& a, const Var& b, FieldRole role) {
    return Same(static_cast<const Expr&>(a), static_cast<const Expr&>(b), role);
  }
  bool Same(const Stmt& a, const Stmt& b, FieldRole) {
    if (a.node().value.index() != b.node().value.index()) return false;
    return std::visit([&](const auto& x) { return SameNode(x, std::get<std::decay_t<decltype(x)>>(b.node().value)); },
                      a.node().value);
  }
  bool Same(const Block& a, const Block& b, FieldRole) {
    return (!block_names_ || a->name == b->name || Differ(".name_hint")) && SameNode(*a, *b);
  }
  bool Same(const Buffer& a, const Buffer& b, FieldRole role) {
    const auto found = buffers_.find(a.get());
    if (found != buffers_.end()) return found->second == b.get();
    const bool are_views = role == FieldRole::kDeclare || (role == FieldRole::kUse && declares_by_use_);
    if (role == FieldRole::kUse && !map_free_vars_ && !are_views) return a.same_as(b);
    if (are_views && !SameVar(a->data, b->data, map_free_vars_)) return false;
    if (!SameNode(*a, *b) || !taken_.insert(b.get()).second) return false;
    buffers_.emplace(a.get(), b.get());
    return true;
  }
  bool Same(const ParamBuffer& a, const ParamBuffer& b, FieldRole role) {
    // Symbolic extents are introduced by the buffers that have them.
    return Same(a.param, b.param, role) && SameDefinitions(a.buffer, b.buffer);
  }
  bool Same(const MatchBufferRegion& a, const MatchBufferRegion& b, FieldRole role) {
    // Strides and offset of a view may be introduced by it.
    return Same(a.source, b.source, role) && SameDefinitions(a.buffer, b.buffer);
  }
  bool SameDefinitions(const Buffer& a, const Buffer& b) {
    defining_ = true;
    const bool same = Same(a, b, FieldRole::kDef);
    defining_ = map_free_vars_;
    return same;
  }
  bool Same(const Attr& a, const Attr& b, FieldRole role) {
    if (a.index() != b.index()) return false;
    return std::visit([&](const auto& x) { return Same(x, std::get<std::decay_t<decltype(x)>>(b), role); },
                      static_cast<const AttrVariant&>(a));
  }
  bool Same(const AttrMap& a, const AttrMap& b, FieldRole role) {
    if (a.contains(kGlobalSymbol) || b.contains(kGlobalSymbol)) return Same(WithoutSymbol(a), WithoutSymbol(b), role);
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
      return x.first == y.first && Same(x.second, y.second, role);
    });
  }
  bool Same(const AttrTarget& a, const AttrTarget& b, FieldRole role) {
    if (a.index() != b.index()) return false;
    return std::visit([&](const auto& x) { return Same(x, std::get<std::decay_t<decltype(x)>>(b), role); }, a);
  }
  template <typename T>
  bool Same(const std::vector<T>& a, const std::vector<T>& b, FieldRole role) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!Same(a[i], b[i], role)) return Differ("[" + std::to_string(i) + "]");
    }
    return true;
  }
  template <typename T>
  bool Same(const std::optional<T>& a, const std::optional<T>& b, FieldRole role) {
    return a.has_value() == b.has_value() && (!a || Same(*a, *b, role));
  }
  bool Same(const IRModule& a, const IRModule& b, FieldRole role) {
    if (a.prim_funcs.size() != b.prim_funcs.size()) return false;
    for (const PrimFunc& func : a.prim_funcs) {
      const PrimFunc* other = b.Find(func.name);
      if (other == nullptr || !SameNode(func, *other)) return Differ("[\"" + func.name + "\"]");
    }
    return true;
  }
  bool Same(double a, double b, FieldRole) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }
  template <HasFields T>
  bool Same(const T& a, const T& b, FieldRole) {
    return SameNode(a, b);
  }
  template <typename T>
  bool Same(const T& a, const T& b, FieldRole) {
    return a == b;
  }

  template <typename Node>
  bool SameNode(const Node& a, const Node& b) {
    return std::apply(
        [&](const auto&... field) {
          return ((!SameName(field.name) || Same(a.*(field.member), b.*(field.member), field.role) ||
                   Differ("." + std::string(field.name))) &&
                  ...);
        },
        Node::Fields());
  }

 private:
  bool Differ(std::string place) {
    path_.push_back(std::move(place));
    return false;
  }
  // In TVM a pointer without a scope is one to global memory.
  bool SamePointer(const PointerType* a, const PointerType* b) const {
    return a == b || (declares_by_use_ && a != nullptr && b != nullptr && a->element == b->element &&
                      KnownScope(*a) == KnownScope(*b));
  }
  bool SameVar(const Expr& a, const Expr& b, bool define) {
    const VarName &x = *a.As<VarName>(), &y = *b.As<VarName>();
    if (a.dtype() != b.dtype() || !SamePointer(x.pointer, y.pointer) || x.is_size != y.is_size) return false;
    const auto found = vars_.find(a.get());
    if (found != vars_.end()) return found->second == b.get();
    if (!define) return a.same_as(b);
    if (!taken_.insert(b.get()).second) return false;
    vars_.emplace(a.get(), b.get());
    return true;
  }

  std::unordered_map<const ExprNode*, const ExprNode*> vars_;
  std::unordered_map<const BufferNode*, const BufferNode*> buffers_;
  std::unordered_set<const void*> taken_;
  std::vector<std::string> path_;
  const bool map_free_vars_, block_names_;
  bool defining_, declares_by_use_ = false;
};

class Hasher {
 public:
  explicit Hasher(bool map_free_vars = false, bool block_names = true)
      : map_free_vars_(map_free_vars), block_names_(block_names), defining_(map_free_vars) {}
  void DeclareByUse() { declares_by_use_ = true; }
  void Add(const Expr& e, FieldRole role) {
    if (IsVar(e)) return AddVar(e, role == FieldRole::kDef || defining_);
    Mix((uint64_t(e.node().value.index()) << 40) | Packed(e.dtype()));
    VisitNode(e, [&](const auto& node) { AddNode(node); });
  }
  void Add(const Var& v, FieldRole role) { Add(static_cast<const Expr&>(v), role); }
  void Add(const Stmt& s, FieldRole) {
    Mix(s.node().value.index() + 100);
    std::visit([&](const auto& node) { AddNode(node); }, s.node().value);
  }
  void Add(const Block& b, FieldRole role) {
    if (block_names_) Add(b->name, role);
    AddNode(*b);
  }
  void Add(const Buffer& b, FieldRole role) {
    const auto found = ids_.find(b.get());
    if (found != ids_.end()) return Mix(found->second);
    const bool is_view = role == FieldRole::kDeclare || (role == FieldRole::kUse && declares_by_use_);
    if (role == FieldRole::kUse && !map_free_vars_ && !is_view) return Mix(reinterpret_cast<uintptr_t>(b.get()));
    if (is_view) AddVar(b->data, map_free_vars_);
    AddNode(*b);
    ids_.emplace(b.get(), ids_.size() + 1);
  }
  void Add(const ParamBuffer& entry, FieldRole role) {
    Add(entry.param, role);
    defining_ = true;
    Add(entry.buffer, FieldRole::kDef);
    defining_ = map_free_vars_;
  }
  void Add(const MatchBufferRegion& match, FieldRole role) {
    Add(match.source, role);
    defining_ = true;
    Add(match.buffer, FieldRole::kDef);
    defining_ = map_free_vars_;
  }
  template <typename T>
  void Add(const std::vector<T>& items, FieldRole role) {
    Mix(items.size());
    for (const T& item : items) Add(item, role);
  }
  template <typename T>
  void Add(const std::optional<T>& item, FieldRole role) {
    Mix(item.has_value());
    if (item) Add(*item, role);
  }
  void Add(const std::string& text, FieldRole) { Mix(std::hash<std::string>()(text)); }
  void Add(const AttrMap& attrs, FieldRole role) {
    if (attrs.contains(kGlobalSymbol)) return Add(WithoutSymbol(attrs), role);
    Mix(attrs.size());
    for (const auto& [key, value] : attrs) {
      Add(key, role);
      Add(value, role);
    }
  }
  void Add(const Attr& attr, FieldRole role) {
    Mix(attr.index());
    std::visit([&](const auto& value) { Add(value, role); }, static_cast<const AttrVariant&>(attr));
  }
  void Add(std::monostate, FieldRole) {}
  void Add(const std::shared_ptr<const IndexMap>& map, FieldRole) { Mix(reinterpret_cast<uintptr_t>(map.get())); }
  void Add(const AttrTarget& target, FieldRole role) {
    Mix(target.index());
    std::visit([&](const auto& value) { Add(value, role); }, target);
  }
  void Add(const IRModule& module, FieldRole) {
    std::map<std::string_view, const PrimFunc*> by_name;
    for (const PrimFunc& func : module.prim_funcs) by_name.emplace(func.name, &func);
    for (const auto& [name, func] : by_name) {
      Mix(std::hash<std::string_view>()(name));
      AddNode(*func);
    }
  }
  void Add(double value, FieldRole) { Mix(std::bit_cast<uint64_t>(value)); }
  void Add(DataType type, FieldRole) { Mix(Packed(type)); }
  void Add(const PointerType* pointer, FieldRole role) {
    if (pointer == nullptr) return;
    Add(pointer->element, role);
    Add(declares_by_use_ ? KnownScope(*pointer) : pointer->scope, role);
  }
  void Add(const Op* op, FieldRole) { Mix(std::hash<std::string_view>()(op->name)); }
  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void Add(T value, FieldRole) {
    Mix(static_cast<uint64_t>(value));
  }
  template <HasFields T>
  void Add(const T& node, FieldRole) {
    AddNode(node);
  }

  template <typename Node>
  void AddNode(const Node& node) {
    ForEachField(node, [&](const auto& field, const auto& value) {
      if (SameName(field.name)) Add(value, field.role);
    });
  }
  uint64_t value() const { return value_; }

 private:
  static uint64_t Packed(DataType type) {
    return (uint64_t(type.is_scalable) << 32) | (uint64_t(type.code) << 24) | (uint64_t(type.bits) << 16) | type.lanes;
  }
  void AddVar(const Expr& var, bool define) {
    const auto found = ids_.find(var.get());
    if (found != ids_.end()) return Mix((uint64_t{1} << 48) | found->second);
    if (!define) return Mix(reinterpret_cast<uintptr_t>(var.get()));
    Add(var.dtype(), FieldRole::kUse);
    Add(var.As<VarName>()->pointer, FieldRole::kUse);
    Mix(var.As<VarName>()->is_size);
    ids_.emplace(var.get(), ids_.size() + 1);
  }
  // A product of 128 bits folded once: the two halves depend on all that came before.
  void Mix(uint64_t x) {
    const auto product = static_cast<unsigned __int128>(value_ ^ 0x9e3779b97f4a7c15u) * (x ^ 0xe7037ed1a0b428dbu);
    value_ = static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product);
  }

  std::unordered_map<const void*, uint64_t> ids_;
  const bool map_free_vars_, block_names_;
  bool defining_, declares_by_use_ = false;
  uint64_t value_ = 0;
};

template <typename T>
uint64_t Hash(const T& item) {
  Hasher hasher;
  hasher.Add(item, FieldRole::kUse);
  return hasher.value();
}

}  // namespace

bool Attr::operator==(const Attr& other) const { return Comparer().Same(*this, other, FieldRole::kUse); }

bool StructuralEqual(const Expr& a, const Expr& b) { return Comparer().Same(a, b, FieldRole::kUse); }
bool StructuralEqual(const Stmt& a, const Stmt& b) { return Comparer().Same(a, b, FieldRole::kUse); }
bool StructuralEqual(const PrimFunc& a, const PrimFunc& b) { return Comparer().SameNode(a, b); }
uint64_t StructuralHash(const Expr& e) { return Hash(e); }
uint64_t StructuralHash(const Stmt& s) { return Hash(s); }
uint64_t StructuralHash(const PrimFunc& func) { return Hash(func); }

template <typename T>
std::optional<std::string> FirstDifference(const T& a, const T& b, bool map_free_vars) {
  Comparer comparer(map_free_vars, /*block_names=*/false);
  if (comparer.Same(a, b, FieldRole::kUse)) return std::nullopt;
  const T plain_a = DeclarationRemover()(a), plain_b = DeclarationRemover()(b);
  Comparer lenient(map_free_vars, /*block_names=*/false);
  lenient.DeclareByUse();
  return lenient.Same(plain_a, plain_b, FieldRole::kUse) ? std::nullopt : std::optional(comparer.Path());
}
template <typename T>
uint64_t StructuralHashOf(const T& node, bool map_free_vars) {
  const T plain = DeclarationRemover()(node);
  Hasher hasher(map_free_vars, /*block_names=*/false);
  hasher.DeclareByUse();
  hasher.Add(plain, FieldRole::kUse);
  return hasher.value();
}
template std::optional<std::string> FirstDifference(const Expr&, const Expr&, bool);
template uint64_t StructuralHashOf(const Expr&, bool);
template std::optional<std::string> FirstDifference(const Stmt&, const Stmt&, bool);
template uint64_t StructuralHashOf(const Stmt&, bool);
template std::optional<std::string> FirstDifference(const Block&, const Block&, bool);
template uint64_t StructuralHashOf(const Block&, bool);
template std::optional<std::string> FirstDifference(const Buffer&, const Buffer&, bool);
template uint64_t StructuralHashOf(const Buffer&, bool);
template std::optional<std::string> FirstDifference(const BufferRegion&, const BufferRegion&, bool);
template uint64_t StructuralHashOf(const BufferRegion&, bool);
template std::optional<std::string> FirstDifference(const MatchBufferRegion&, const MatchBufferRegion&, bool);
template uint64_t StructuralHashOf(const MatchBufferRegion&, bool);
template std::optional<std::string> FirstDifference(const Range&, const Range&, bool);
template uint64_t StructuralHashOf(const Range&, bool);
template std::optional<std::string> FirstDifference(const IterVar&, const IterVar&, bool);
template uint64_t StructuralHashOf(const IterVar&, bool);
template std::optional<std::string> FirstDifference(const CommReducer&, const CommReducer&, bool);
template uint64_t StructuralHashOf(const CommReducer&, bool);
template std::optional<std::string> FirstDifference(const PrimFunc&, const PrimFunc&, bool);
template uint64_t StructuralHashOf(const PrimFunc&, bool);
template std::optional<std::string> FirstDifference(const IRModule&, const IRModule&, bool);
template uint64_t StructuralHashOf(const IRModule&, bool);

}  // namespace lathe
