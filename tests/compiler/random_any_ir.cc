// RandomIrMode::kAnything.
#include <algorithm>
#include <limits>

#include "compiler/ir/integer.h"
#include "compiler/script/complete.h"
#include "support/random.h"
#include "tests/compiler/random_ir.h"

namespace lathe {
namespace {

struct KnownVar {
  Var var;
  int64_t low, high;
};  // Inclusive.
// A buffer that may be touched here. `prefix`: its first indices, fixed, so that parallel iterations stay apart.
struct Access {
  Buffer buffer;
  std::vector<Expr> prefix;
  bool is_writable;
};
struct Scope {
  std::vector<KnownVar> vars;
  std::vector<Var> scalars;  // Of any value.
  std::vector<Access> accesses;
  bool in_lanes = false;  // Inside a vectorized loop: stores only.
};

constexpr int kMaxDepth = 4;

class AnyMaker {
 public:
  AnyMaker(uint64_t seed, bool symbolic) : random_(seed), symbolic_(symbolic) {}

  PrimFunc Run() {
    Scope scope;
    for (int i = 0, n = 1 + int(Below(3)); i < n; ++i) AddParam(scope, RandomType(), RandomShape(), false);
    for (int i = 0, n = int(Below(3)); i < n; ++i) {
      scope.scalars.emplace_back(Name(), Pick(std::vector<DataType>{DataType::Int(32), DataType::Float(32),
                                                                    DataType::Int(64), DataType::Bool()}));
      params_.emplace_back(scope.scalars.back());
    }
    for (int i = 0, n = 1 + int(Below(2)); i < n; ++i) AddParam(scope, RandomType(), RandomShape(), true);
    if (symbolic_) AddSymbolicParams();
    has_blocks_ = Below(2) == 0;
    Stmt body = Suite(scope, 0, 2 + int(Below(3)));
    PrimFunc func = MakePrimFunc(Below(8) == 0 ? "odd name!" : "main", params_, body, RandomAttrs());
    std::vector<Buffer> allocs;
    if (has_blocks_ && Below(2) == 0) allocs.push_back(MakeBuffer(Name(), {4, 4}, RandomType(), "shared"));
    return Complete(std::move(func), std::move(allocs));
  }

 private:
  uint64_t Below(uint64_t n) { return random_.Below(n); }
  template <typename T>
  const T& Pick(const std::vector<T>& list) {
    return list[Below(list.size())];
  }
  std::string Name() {
    static const std::vector<std::string> names = {"i", "i", "j",    "A",  "x.outer",   "for",     "T",
                                                   "",  "0", "vi_1", "vi", "long_name", "\xc3\xa4"};
    return Pick(names);
  }
  std::string Text() {
    static const std::vector<std::string> texts = {"",
                                                   "plain",
                                                   "with \"quotes\" and \\",
                                                   "line\nbreak\ttab",
                                                   std::string("nul\0byte", 8),
                                                   "\xc3\xa4\xe2\x82\xac",
                                                   "{}'#"};
    return Pick(texts);
  }
  DataType RandomType() {
    return Pick(std::vector<DataType>{DataType::Float(32), DataType::Float(32), DataType::Int(32), DataType::Int(64),
                                      DataType::Float(64), DataType::Float(16), DataType::Int(8), DataType::UInt(8),
                                      DataType::UInt(64), DataType::Bool(), DataType::BFloat()});
  }
  std::vector<int64_t> RandomShape() {
    std::vector<int64_t> shape;
    for (size_t i = 0, rank = Below(4); i < rank; ++i) shape.push_back(1 + int64_t(Below(8)));
    return shape;
  }
  Attr RandomAttr(int depth) {
    switch (Below(depth > 1 ? 5 : 7)) {
      case 0:
        return Attr(int64_t(random_.Next()));
      case 1:
        return Attr(
            Pick(std::vector<double>{0.0, -0.0, 1.0, 0.1, 1e300, 5e-324, std::numeric_limits<double>::infinity()}));
      case 2:
        return Attr(Below(2) == 0);
      case 3:
        return Attr(Text());
      case 4:
        return Attr(std::monostate());
      case 5:
        return Attr(AttrMap{{Text(), RandomAttr(depth + 1)}, {"k", RandomAttr(depth + 1)}});
      default:
        break;
    }
    std::vector<Attr> list;
    for (uint64_t i = 0, n = Below(3); i < n; ++i) list.push_back(RandomAttr(depth + 1));
    return Attr(std::move(list));
  }
  AttrMap RandomAttrs() {
    AttrMap attrs;
    for (uint64_t i = 0, n = Below(3); i < n; ++i)
      attrs["key" + std::to_string(Below(5)) + (Below(5) == 0 ? Text() : "")] = RandomAttr(0);
    return attrs;
  }

  // ---- Buffers
  Buffer NewBuffer(DataType type, const std::vector<int64_t>& shape, std::string scope) {
    BufferNode node;
    node.name = Name();
    node.dtype = type;
    node.shape.assign(shape.begin(), shape.end());
    node.scope = std::move(scope);
    if (Below(8) == 0) node.data_alignment = 128;
    if (Below(8) == 0) node.offset_factor = 4;
    if (Below(8) == 0) node.buffer_type = BufferType::kAutoBroadcast;
    if (!shape.empty() && Below(8) == 0) node.axis_separators = {1};
    if (!shape.empty() && Below(5) == 0) {  // Row-major, spelled out, rows may be padded.
      int64_t stride = 1;
      for (size_t i = shape.size(); i-- > 0;) {
        node.strides.insert(node.strides.begin(), Expr(stride));
        stride *= shape[i] + (i + 1 == shape.size() ? int64_t(Below(2)) : 0);
      }
    }
    return Own(Buffer(std::move(node)));
  }
  Buffer Own(const Buffer& buffer) {
    owners_.emplace(buffer->data.get(), buffer);
    return buffer;
  }
  void AddParam(Scope& scope, DataType type, const std::vector<int64_t>& shape, bool is_writable) {
    const Buffer buffer = NewBuffer(type, shape, "global");
    params_.emplace_back(buffer);
    scope.accesses.push_back({buffer, {}, is_writable});
  }
  void AddSymbolicParams() {
    const Var n(Name(), Below(2) == 0 ? DataType::Int(64) : DataType::Int(32)), stride(Name()), offset(Name());
    BufferNode node;
    node.name = Name();
    node.shape = {n, MakeBinary(BinaryOp::kAdd, n, IntConst(n.dtype(), 1))};
    if (Below(2) == 0) node.strides = {stride, Expr(1)};
    if (Below(2) == 0) node.elem_offset = offset;
    params_.emplace_back(Buffer(node));
    params_.emplace_back(MakeBuffer(Name(), {n}, RandomType()));
    if (Below(2) == 0) params_.emplace_back(Var(Name(), DataType::Handle()));
  }

  // An integer of [0, extent), made from what is in scope.
  Expr Index(const Scope& scope, int64_t extent) {
    if (!scope.vars.empty() && Below(4) != 0) {
      const KnownVar known = Pick(scope.vars);
      const Expr var = known.var;
      const DataType type = var.dtype();
      if (known.low >= 0 && known.high < extent)
        return Below(3) == 0 ? MakeBinary(BinaryOp::kMul, var, IntConst(type, 1)) : var;
      if (Below(2) == 0) return FloorMod(var, IntConst(type, extent));
      return Max(Min(var, IntConst(type, extent - 1)), IntConst(type, 0));
    }
    return Expr(int64_t(Below(uint64_t(extent))));
  }
  std::vector<Expr> Indices(const Scope& scope, const Access& access) {
    std::vector<Expr> indices = access.prefix;
    for (size_t i = indices.size(); i < access.buffer->shape.size(); ++i)
      indices.push_back(Index(scope, *AsIntConst(access.buffer->shape[i])));
    return indices;
  }
  const Access* FindAccess(const Scope& scope, const std::function<bool(const Access&)>& fits) {
    std::vector<const Access*> list;
    for (const Access& access : scope.accesses) {
      if (fits(access)) list.push_back(&access);
    }
    return list.empty() ? nullptr : Pick(list);
  }

  // ---- Expressions
  Expr Leaf(const Scope& scope, DataType type) {
    const Access* access = FindAccess(scope, [&](const Access& a) { return a.buffer->dtype == type; });
    if (access != nullptr && Below(2) == 0) return Load(access->buffer, Indices(scope, *access));
    std::vector<Expr> vars;
    for (const KnownVar& known : scope.vars) {
      if (known.var.dtype() == type) vars.push_back(known.var);
    }
    for (const Var& var : scope.scalars) {
      if (var.dtype() == type) vars.push_back(var);
    }
    if (!vars.empty() && Below(2) == 0) return Pick(vars);
    if (type.is_float())
      return FloatConst(type, Pick(std::vector<double>{0.0, -0.0, 1.0, -2.5, 0.1, 1e-7, 3e38,
                                                       std::numeric_limits<double>::infinity(), -1.0 / 3}));
    if (type.is_bool()) return IntConst(type, int64_t(Below(2)));
    const int64_t value = Below(4) == 0 ? int64_t(random_.Next()) : int64_t(Below(9)) - 4;
    return IntConst(type, WrapToWidth(value, type.bits, type.is_signed_int()));
  }
  Expr Binary2(BinaryOp op, const Expr& a, const Expr& b) {
    return Below(3) == 0 ? FoldBinary(op, a, b) : MakeBinary(op, a, b);
  }
  Expr Value(const Scope& scope, DataType type, int depth) {
    if (depth >= kMaxDepth || Below(4) == 0) return Leaf(scope, type);
    const auto sub = [&](DataType t) { return Value(scope, t, depth + 1); };
    if (type.is_bool()) return Condition(scope, depth);
    switch (Below(10)) {
      case 8: {
        const Var var(Name(), type);
        Scope inner = scope;
        const Expr value = sub(type);
        inner.scalars.push_back(var);
        return Expr::Make(type, lathe::Let{value, var, Value(inner, type, depth + 1)});
      }
      case 9:
        return Expr::Make(type, Shuffle{{sub(type), sub(type), sub(type)}, {Expr(int64_t(Below(3)))}});
      case 0:
        return Expr::Make(type, Select{sub(DataType::Bool()), sub(type), sub(type)});
      case 1:
        return MakeCall(type, "if_then_else", {sub(DataType::Bool()), sub(type), sub(type)});
      case 2:
        return CastTo(scope, type, depth);
      case 3:
        return type.is_float() ? FloatCall(scope, type, depth) : IntCall(scope, type, depth);
      case 4:
        if (!type.is_float()) {
          const BinaryOp op = Pick(
              std::vector<BinaryOp>{BinaryOp::kDiv, BinaryOp::kFloorDiv, BinaryOp::kFloorMod, BinaryOp::kTruncMod});
          return Binary2(op, sub(type), IntConst(type, 1 + int64_t(Below(7))));
        }
        return Binary2(BinaryOp::kDiv, sub(type), sub(type));
      default:
        return Binary2(
            Pick(std::vector<BinaryOp>{BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kMin, BinaryOp::kMax}),
            sub(type), sub(type));
    }
  }
  Expr Condition(const Scope& scope, int depth) {
    const DataType type = Pick(std::vector<DataType>{DataType::Int(32), DataType::Float(32), DataType::Int(64)});
    switch (Below(5)) {
      case 0:
        return Expr::Make(DataType::Bool(), Not{Value(scope, DataType::Bool(), depth + 1)});
      case 1:
        return Binary2(BinaryOp::kAnd, Value(scope, DataType::Bool(), depth + 1),
                       Value(scope, DataType::Bool(), depth + 1));
      case 2:
        return Binary2(BinaryOp::kOr, Value(scope, DataType::Bool(), depth + 1),
                       Value(scope, DataType::Bool(), depth + 1));
      default:
        break;
    }
    const BinaryOp op = Pick(std::vector<BinaryOp>{BinaryOp::kEQ, BinaryOp::kNE, BinaryOp::kLT, BinaryOp::kLE,
                                                   BinaryOp::kGT, BinaryOp::kGE});
    return Binary2(op, Value(scope, type, depth + 1), Value(scope, type, depth + 1));
  }
  Expr CastTo(const Scope& scope, DataType type, int depth) {  // A float is never cast to an integer: it might not fit.
    std::vector<DataType> sources = {DataType::Int(32), DataType::Int(64), DataType::Bool(), DataType::UInt(8), type};
    if (type.is_float()) sources.push_back(DataType::Float(32));
    return Expr::Make(type, Cast{Value(scope, Pick(sources), depth + 1)});
  }
  Expr FloatCall(const Scope& scope, DataType type, int depth) {
    const auto arg = [&] { return Value(scope, type, depth + 1); };
    switch (Below(4)) {
      case 0:
        return MakeCall(type, Pick(std::vector<std::string>{"pow", "atan2", "copysign"}), {arg(), arg()});
      case 1:
        return MakeCall(type, Pick(std::vector<std::string>{"infinity", "max_value", "min_value"}), {});
      default:
        break;
    }
    return MakeCall(
        type,
        Pick(std::vector<std::string>{"abs", "atan", "ceil", "cos", "erf", "exp", "exp2", "floor", "log", "log2",
                                      "nearbyint", "round", "rsqrt", "sigmoid", "sin", "sqrt", "tan", "tanh", "trunc"}),
        {arg()});
  }
  Expr IntCall(const Scope& scope, DataType type, int depth) {
    const Expr a = Value(scope, type, depth + 1);
    switch (Below(4)) {
      case 0:
        return MakeCall(type, Pick(std::vector<std::string>{"shift_left", "shift_right"}),
                        {a, IntConst(type, int64_t(Below(7)))});
      case 1:
        return MakeCall(type, Pick(std::vector<std::string>{"bitwise_and", "bitwise_or", "bitwise_xor"}),
                        {a, Value(scope, type, depth + 1)});
      case 2:
        return MakeCall(type, "bitwise_not", {a});
      default:
        return MakeCall(
            type, Pick(std::vector<std::string>{"abs", "max_value", "min_value"}) == "abs" ? "abs" : "popcount", {a});
    }
  }

  // ---- Statements
  Stmt Suite(const Scope& scope, int depth, int count) {
    std::vector<Stmt> stmts;
    for (int i = 0; i < count; ++i) stmts.push_back(Statement(scope, depth));
    return MakeSeq(std::move(stmts));
  }
  Stmt Statement(const Scope& scope, int depth) {
    if (scope.in_lanes || depth >= kMaxDepth) return StoreValue(scope);
    switch (Below(16)) {
      case 0:
        return Let(scope, depth);
      case 1:
        return Branch(scope, depth);
      case 2:
        return Count(scope, depth);
      case 3:
        return Temporary(scope, depth);
      case 4:
        return SharedNothingLoop(scope, depth);
      case 5:
        return Vector(scope);
      case 6:
        return Check(scope);
      case 7:
        return Evaluate{Below(3) == 0 ? MakeCall(DataType::Int(32), "tvm_storage_sync",
                                                 {Expr::Make(DataType::Handle(), StringImm{Text()})})
                                      : Value(scope, RandomType(), 1)};
      case 8:
      case 9:
        return has_blocks_ ? InBlock(scope, depth) : Loop(scope, depth);
      case 10:
        return Loop(scope, depth);
      case 11:
        return Alias(scope, depth);
      case 14:
        return AttrStmt{"pragma_" + std::to_string(Below(3)), Index(scope, 5), RandomAttr(0),
                        Suite(scope, depth + 1, 1)};
      case 15:
        return symbolic_ ? TextOnly(scope, depth) : Constants(scope, depth);
      default:
        return StoreValue(scope);
    }
  }
  Stmt StoreValue(const Scope& scope) {
    const Access* target = FindAccess(scope, [](const Access& a) { return a.is_writable; });
    if (target == nullptr) return Evaluate{Value(scope, DataType::Int(32), 2)};
    return MakeStore(target->buffer, Value(scope, target->buffer->dtype, 1), Indices(scope, *target));
  }
  Stmt Check(const Scope& scope) {  // Of what always holds.
    const Expr index = Index(scope, 9);
    return AssertStmt{Binary2(BinaryOp::kLE, IntConst(index.dtype(), 0), index), Text(), Evaluate{0}};
  }
  Stmt Let(Scope scope, int depth) {
    const DataType type = RandomType();
    const Expr value = Value(scope, type, 1);
    const Var var(Name(), type);
    scope.scalars.push_back(var);
    return LetStmt{value, var, Suite(scope, depth + 1, 1 + int(Below(2)))};
  }
  Stmt Branch(const Scope& scope, int depth) {
    IfThenElse branch{Value(scope, DataType::Bool(), 1), Suite(scope, depth + 1, 1), {}};
    if (Below(2) == 0) branch.else_case = Suite(scope, depth + 1, 1);
    return branch;
  }
  AttrMap LoopAttrs(const Scope& outer) {  // May name what is around.
    AttrMap attrs = RandomAttrs();
    if (!outer.vars.empty() && Below(2) == 0)
      attrs["expr"] = Attr(MakeBinary(BinaryOp::kAdd, outer.vars[0].var, IntConst(outer.vars[0].var.dtype(), 2)));
    return attrs;
  }
  Stmt Loop(Scope scope, int depth) {
    const Scope outer = scope;
    const DataType type = Below(4) == 0 ? DataType::Int(64) : DataType::Int(32);
    const int64_t min = Below(3) == 0 ? int64_t(Below(5)) - 2 : 0, extent = 1 + int64_t(Below(5));
    const Var var(Name(), type);
    scope.vars.push_back({var, min, min + extent - 1});
    For loop{var,
             IntConst(type, min),
             IntConst(type, extent),
             Below(3) == 0 ? ForKind::kUnrolled : ForKind::kSerial,
             "",
             Below(4) == 0 ? LoopAttrs(outer) : AttrMap(),
             Suite(scope, depth + 1, 1 + int(Below(2)))};
    return loop;
  }
  // A parallel, vectorized or thread loop that writes to a parameter of its own, each iteration to its own row.
  Stmt SharedNothingLoop(Scope scope, int depth) {
    const ForKind kind = Pick(std::vector<ForKind>{ForKind::kParallel, ForKind::kVectorized, ForKind::kThreadBinding});
    const bool nested =
        std::any_of(scope.accesses.begin(), scope.accesses.end(), [](const Access& a) { return !a.prefix.empty(); });
    if (nested) return Loop(std::move(scope), depth);
    const int64_t extent = 2 + int64_t(Below(3));
    const Buffer own = NewBuffer(RandomType(), {extent, 1 + int64_t(Below(4))}, "global");
    params_.emplace_back(own);
    const Var var(Name());
    std::erase_if(scope.accesses, [](const Access& a) { return a.is_writable; });
    scope.accesses.push_back({own, {var}, true});
    scope.vars.push_back({var, 0, extent - 1});
    scope.in_lanes = kind == ForKind::kVectorized;
    const std::string thread = kind == ForKind::kThreadBinding ? "blockIdx.x" : "";
    return For{var, 0, Expr(extent), kind, thread, {}, Suite(scope, depth + 1, 1)};
  }
  // Counts up to a number with `while`, in a variable of its own.
  Stmt Count(const Scope& scope, int depth) {
    const Buffer counter = MakeBuffer(Name(), {1}, DataType::Int(32), "local");
    const Expr at = Load(counter, {0});
    Stmt body = MakeSeq({StoreValue(scope), MakeStore(counter, at + 1, {0})});
    return AllocBuffer{counter, MakeSeq({MakeStore(counter, 0, {0}), While{Less(at, int64_t(Below(4))), body}})};
  }
  Stmt Temporary(Scope scope, int depth) {
    const Buffer buffer = NewBuffer(RandomType(), RandomShape(),
                                    Pick(std::vector<std::string>{"global", "local", "shared", "odd \"scope\""}));
    Scope filling = scope;
    std::vector<Expr> indices;
    std::vector<Var> vars;
    for (size_t i = 0; i < buffer->shape.size(); ++i) {
      vars.emplace_back(Name());
      indices.push_back(vars.back());
    }
    Stmt fill = MakeStore(buffer, Leaf(scope, buffer->dtype), indices);
    for (size_t i = vars.size(); i-- > 0;) fill = MakeFor(vars[i], buffer->shape[i], fill);
    scope.accesses.push_back({buffer, {}, true});
    return AllocBuffer{buffer, MakeSeq({fill, Suite(scope, depth + 1, 1)})};
  }
  // A table of constants, read.
  Stmt Constants(Scope scope, int depth) {
    const DataType type = Below(2) == 0 ? DataType::Int(32) : DataType::Float(32);
    const Var data(Name(), MakePointerType(type));
    AllocateConst table{data, type, {2, 2}, {}, RandomAttrs(), Evaluate{0}};
    for (int64_t i = 0; i < 4; ++i)
      table.data.push_back(type.is_float() ? FloatConst(type, 0.5 * double(i)) : IntConst(type, i - 2));
    BufferNode node;
    node.name = Name();
    node.dtype = type;
    node.shape = {2, 2};
    node.data = data;
    const Buffer buffer(std::move(node));
    scope.accesses.push_back({buffer, {}, false});
    table.body = DeclBuffer{buffer, Suite(scope, depth + 1, 1)};
    return table;
  }
  // What nobody runs, but texts hold.
  Stmt TextOnly(Scope scope, int depth) {
    switch (Below(5)) {
      case 0: {
        const Var thread(Name());
        const Expr extent = int64_t(1 + Below(4));
        scope.vars.push_back({thread, 0, 3});
        return AttrStmt{"thread_extent", extent, IterVar{{0, extent}, thread, IterKind::kThreadIndex, "threadIdx.x"},
                        Suite(scope, depth + 1, 2)};
      }
      case 1: {
        const Var data(Name(), MakePointerType(DataType::Int(8), "shared"));
        const Expr call =
            MakeCall(DataType::Int(32), "call_extern", {Expr::Make(DataType::Handle(), StringImm{"f"}), data});
        return Allocate{data, DataType::Int(8), {4}, Condition(scope, kMaxDepth), RandomAttrs(), Evaluate{call}};
      }
      case 2:
        return Evaluate{Expr::Make(DataType::Int(32), FuncCall{"callee", {Index(scope, 4)}})};
      case 3: {
        const Buffer buffer = NewBuffer(DataType::Float(32), {4, 2}, "global");
        const std::vector<Range> bounds = {{Index(scope, 4), 2}, {0, 2}};
        const Stmt body = MakeSeq({Prefetch{buffer, bounds}, MakeStore(buffer, FloatConst(buffer->dtype, 1), {0, 1})});
        return BufferRealize{buffer, bounds, Condition(scope, kMaxDepth), Below(2) == 0 ? "" : "shared", body};
      }
      default:
        break;
    }
    const Expr base = Index(scope, 4);
    const DataType type = base.dtype().with_scalable_lanes(4);
    const Expr one = IntConst(base.dtype(), 1);
    return Evaluate{
        MakeBinary(BinaryOp::kAdd, Expr::Make(type, Ramp{base, one, 4}), Expr::Make(type, Broadcast{one, 4}))};
  }
  // The memory of another buffer, as a row.
  Stmt Alias(Scope scope, int depth) {
    const Access* access = FindAccess(scope, [](const Access& a) {
      return a.prefix.empty() && a.buffer->strides.empty() && !a.buffer->shape.empty();
    });
    if (access == nullptr) return StoreValue(scope);
    int64_t size = 1;
    for (const Expr& extent : access->buffer->shape) size *= *AsIntConst(extent);
    const int64_t offset = int64_t(Below(uint64_t(size)));
    BufferNode node = *access->buffer;
    node.name = Name();
    node.shape = {Expr(size - offset)};
    node.elem_offset = Expr(offset);
    node.axis_separators.clear();
    const Buffer row(std::move(node));
    scope.accesses.push_back({row, {}, access->is_writable});
    return DeclBuffer{row, Suite(scope, depth + 1, 1 + int(Below(2)))};
  }
  // B[.., ramp] = vector; nothing where no last dimension is long enough.
  Stmt Vector(const Scope& scope) {
    const auto width = [](const Access& a) {
      return a.buffer->shape.size() == a.prefix.size() ? 0 : *AsIntConst(a.buffer->shape.back());
    };
    const Access* target = FindAccess(scope, [&](const Access& a) { return a.is_writable && width(a) >= 2; });
    if (target == nullptr) return StoreValue(scope);
    const int64_t lanes = 2 + int64_t(Below(uint64_t(width(*target)) - 1));
    const DataType type = target->buffer->dtype;
    const auto vector_index = [&](const Access& access) {
      std::vector<Expr> indices = Indices(scope, access);
      const Expr base = int64_t(Below(uint64_t(*AsIntConst(access.buffer->shape.back()) - lanes + 1)));
      indices.back() = Expr::Make(DataType::Int(32, int(lanes)), Ramp{base, 1, lanes});
      return indices;
    };
    const Access* source =
        FindAccess(scope, [&](const Access& a) { return a.buffer->dtype == type && width(a) >= lanes; });
    Expr value = Expr::Make(type.with_lanes(int(lanes)), Broadcast{Leaf(scope, type), lanes});
    if (source != nullptr && Below(2) == 0 && !type.is_bool())
      value = Binary2(BinaryOp::kAdd, Load(source->buffer, vector_index(*source)), value);
    return MakeStore(target->buffer, value, vector_index(*target));
  }

  // ---- Blocks
  Stmt InBlock(const Scope& outer, int depth) {
    Scope scope = outer;
    scope.vars.clear();
    scope.scalars.clear();
    BlockNode block{.name = "block" + std::to_string(num_blocks_++) + (Below(4) == 0 ? Text() : ""),
                    .body = Evaluate{0}};
    std::vector<Expr> values;
    const auto bind = [&](int64_t low, int64_t extent, const Expr& value, IterKind kind) {
      const Var var(Name(), value.dtype());
      const DataType type = value.dtype();
      block.iter_vars.push_back({{IntConst(type, low), IntConst(type, extent)}, var, kind});
      values.push_back(value);
      scope.vars.push_back({var, low, low + extent - 1});
      return var;
    };
    for (Access& access : scope.accesses) {
      for (Expr& index : access.prefix) {
        if (IsVar(index)) index = bind(0, *AsIntConst(access.buffer->shape[0]), index, IterKind::kSpatial);
      }
    }
    for (const KnownVar& known : outer.vars) {
      if (Below(3) != 0)
        bind(known.low, known.high - known.low + 1, known.var, Below(6) == 0 ? IterKind::kOpaque : IterKind::kSpatial);
    }
    // Two loops of its own over one axis, with a tail.
    const Var i(Name()), j(Name());
    const int64_t tile = 2 + int64_t(Below(3)), extent = 2 + int64_t(Below(6)), tiles = (extent + tile - 1) / tile;
    const Expr flat = Expr(i) * tile + j;
    bind(0, extent, flat,
         Pick(std::vector<IterKind>{IterKind::kSpatial, IterKind::kReduce, IterKind::kSpatial, IterKind::kScan}));
    const Expr predicate = extent % tile == 0 && Below(2) == 0 ? True() : Less(flat, extent);
    if (Below(3) == 0) block.annotations = RandomAttrs();
    if (Below(3) == 0) AllocInBlock(scope, block);
    if (Below(3) == 0) MatchInBlock(scope, block);
    if (Below(3) == 0) block.init = StoreValue(scope);
    Stmt body = Suite(scope, depth + 2, 1 + int(Below(2)));
    if (!fills_.empty()) {
      fills_.push_back(body);
      body = MakeSeq(std::exchange(fills_, {}));
    }
    block.body = body;
    AccessRegions regions = DetectAccessRegions(block, owners_);
    block.reads = std::move(regions.reads);
    block.writes = std::move(regions.writes);
    const Stmt realize = BlockRealize{std::move(values), predicate, Block(std::move(block))};
    return MakeFor(i, tiles, MakeFor(j, tile, realize));
  }
  void AllocInBlock(Scope& scope,
                    BlockNode& block) {  // One element, written before anything else; init does not see it.
    const Buffer buffer = Own(MakeBuffer(Name(), {1}, DataType::Float(32), "local"));
    block.alloc_buffers.push_back(buffer);
    fills_.push_back(MakeStore(buffer, FloatConst(DataType::Float(32), 1), {0}));
  }
  void MatchInBlock(Scope& scope, BlockNode& block) {
    const Access* access =
        FindAccess(scope, [](const Access& a) { return a.prefix.empty() && a.buffer->shape.size() == 2; });
    if (access == nullptr) return;
    const Expr row = Index(scope, *AsIntConst(access->buffer->shape[0]));
    const Expr width = access->buffer->shape[1];
    const Buffer view = MakeBuffer(Name(), {1, width}, access->buffer->dtype);
    block.match_buffers.push_back({view, {access->buffer, {{row, IntConst(row.dtype(), 1)}, {0, width}}}});
    scope.accesses.push_back({view, {}, access->is_writable});
  }

  Random random_;
  bool symbolic_, has_blocks_ = false;
  int num_blocks_ = 0;
  std::vector<Param> params_;
  std::vector<Stmt> fills_;
  DataOwners owners_;
};

}  // namespace

PrimFunc RandomAnyPrimFunc(uint64_t seed, bool symbolic) { return AnyMaker(seed, symbolic).Run(); }

}  // namespace lathe
