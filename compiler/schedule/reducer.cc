#include "compiler/schedule/reducer.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <optional>

#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

using Exprs = std::vector<Expr>;

// The ends of a type, as T.max_value and T.min_value give them.
double LargestOf(DataType type) {
  if (type.code == DataType::Code::kBFloat) return 0x1.FEp127;
  if (type.is_float())
    return type.bits == 16   ? 65504.0
           : type.bits == 32 ? std::numeric_limits<float>::max()
                             : std::numeric_limits<double>::max();
  return std::ldexp(1.0, type.bits - (type.is_signed_int() ? 1 : 0)) - 1;
}
double SmallestOf(DataType type) {
  if (type.is_float()) return -LargestOf(type);
  return type.is_signed_int() ? -std::ldexp(1.0, type.bits - 1) : 0;
}

// The constant that `e` is, ends of types included.
std::optional<double> ConstantOf(const Expr& e) {
  if (const int64_t* value = AsIntConst(e)) return static_cast<double>(*value);
  if (const FloatImm* value = e.As<FloatImm>()) return value->value;
  if (const Cast* cast = e.As<Cast>()) return ConstantOf(cast->value);
  if (const Call* call = e.As<Call>(); call != nullptr && call->args.empty()) {
    if (call->op == FindOp("max_value")) return LargestOf(e.dtype());
    if (call->op == FindOp("min_value")) return SmallestOf(e.dtype());
  }
  return std::nullopt;
}

template <BinaryOp kOp>
Exprs CombineEach(const Exprs& x, const Exprs& y) {
  Exprs combined;
  for (size_t i = 0; i < x.size(); ++i) combined.push_back(MakeBinary(kOp, x[i], y[i]));
  return combined;
}
// The pair whose second value is chosen by `kOp`.
template <BinaryOp kOp>
Exprs CombineArg(const Exprs& x, const Exprs& y) {
  const Expr keeps = MakeBinary(kOp, x[1], y[1]);
  return {MakeSelect(keeps, x[0], y[0]), MakeSelect(keeps, x[1], y[1])};
}
// Likewise; of equal values that whose index is first by `kIndexOp`.
template <BinaryOp kOp, BinaryOp kIndexOp>
Exprs CombineArgByIndex(const Exprs& x, const Exprs& y) {
  const Expr keeps = MakeBinary(kOp, x[1], y[1]);
  const Expr is_first =
      MakeBinary(BinaryOp::kAnd, MakeBinary(BinaryOp::kEQ, x[1], y[1]), MakeBinary(kIndexOp, x[0], y[0]));
  return {MakeSelect(MakeBinary(BinaryOp::kOr, keeps, is_first), x[0], y[0]), MakeSelect(keeps, x[1], y[1])};
}

bool AreAll(const Exprs& values, double wanted) {
  return std::all_of(values.begin(), values.end(), [&](const Expr& value) { return ConstantOf(value) == wanted; });
}
bool AreZero(const Exprs& values) { return AreAll(values, 0); }
bool AreOne(const Exprs& values) { return AreAll(values, 1); }
bool IsLargest(const Exprs& values) { return AreAll(values, LargestOf(values[0].dtype())); }
bool IsSmallest(const Exprs& values) { return AreAll(values, SmallestOf(values[0].dtype())); }
bool IsArgOfLargest(const Exprs& values) {
  return ConstantOf(values[0]) == -1 && ConstantOf(values[1]) == LargestOf(values[1].dtype());
}
bool IsArgOfSmallest(const Exprs& values) {
  return ConstantOf(values[0]) == -1 && ConstantOf(values[1]) == SmallestOf(values[1].dtype());
}

constexpr Reducer kReducers[] = {
    {"add", 1, AreZero, CombineEach<BinaryOp::kAdd>},
    {"mul", 1, AreOne, CombineEach<BinaryOp::kMul>},
    {"min", 1, IsLargest, CombineEach<BinaryOp::kMin>},
    {"max", 1, IsSmallest, CombineEach<BinaryOp::kMax>},
    {"add of pairs", 2, AreZero, CombineEach<BinaryOp::kAdd>},
    {"argmax", 2, IsArgOfSmallest, CombineArg<BinaryOp::kGE>},
    {"argmin", 2, IsArgOfLargest, CombineArg<BinaryOp::kLE>},
    {"first argmax", 2, IsArgOfSmallest, CombineArgByIndex<BinaryOp::kGT, BinaryOp::kLT>},
    {"first argmin", 2, IsArgOfLargest, CombineArgByIndex<BinaryOp::kLT, BinaryOp::kLT>},
    {"last argmax", 2, IsArgOfSmallest, CombineArgByIndex<BinaryOp::kGT, BinaryOp::kGT>},
    {"last argmin", 2, IsArgOfLargest, CombineArgByIndex<BinaryOp::kLT, BinaryOp::kGT>},
};

struct Stores {
  std::vector<BufferStore> stores;
  bool are_lets = true;  // Every value was computed before the first store.
};

// The stores of `stmt`, lets put in; nullopt if it does anything else.
std::optional<Stores> StoresOf(const Stmt& stmt) {
  VarMap lets;
  Stmt rest = stmt;
  while (const LetStmt* let = rest.As<LetStmt>()) {
    lets.emplace(let->var.get(), Substitute(let->value, lets));
    rest = let->body;
  }
  Stores found;
  const Seq* seq = rest.As<Seq>();
  for (const Stmt& one : seq != nullptr ? seq->stmts : std::vector<Stmt>{rest}) {
    const BufferStore* store = one.As<BufferStore>();
    if (store == nullptr) return std::nullopt;
    found.are_lets = found.are_lets && lets.count(store->value.get()) != 0;
    found.stores.push_back({store->buffer, Substitute(store->value, lets), store->indices});
  }
  return found;
}

// What `value` combines with what is there: the second operand.
std::optional<Expr> SecondOperand(const Expr& value) {
  if (const Binary* op = value.As<Binary>()) return op->b;
  if (const Select* select = value.As<Select>()) return select->false_value;
  return std::nullopt;
}

bool Reads(const Expr& e, const std::vector<Buffer>& buffers) {
  bool reads = false;
  PostOrderVisit(e, [&](const Expr& part) {
    const BufferLoad* load = part.As<BufferLoad>();
    reads = reads || (load != nullptr && std::any_of(buffers.begin(), buffers.end(),
                                                     [&](const Buffer& b) { return b.same_as(load->buffer); }));
  });
  return reads;
}

bool AreEqual(const Exprs& a, const Exprs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return StructuralEqual(x, y); });
}

Status NoMatch(std::string_view why) { return FailedPrecondition(std::string(why)); }

// The identity of each output, in the order of `updates`.
StatusOr<Exprs> IdentitiesOf(const std::vector<BufferStore>& inits, const std::vector<BufferStore>& updates) {
  Exprs identities;
  for (const BufferStore& update : updates) {
    const auto init = std::find_if(inits.begin(), inits.end(), [&](const BufferStore& store) {
      return store.buffer.same_as(update.buffer) && AreEqual(store.indices, update.indices);
    });
    if (init == inits.end())
      return NoMatch(fmt::format("its init does not set what the update of \"{}\" changes", update.buffer->name));
    identities.push_back(init->value);
  }
  if (inits.size() != updates.size()) return NoMatch("its init and its body store to different buffers");
  return identities;
}

}  // namespace

StatusOr<MatchedReduction> MatchReduction(const BlockNode& block) {
  if (!block.init) return NoMatch("it has no init");
  const std::optional<Stores> inits = StoresOf(*block.init), updates = StoresOf(block.body);
  if (!inits || !updates) return NoMatch("its init and body are more than stores to its outputs");
  if (updates->stores.size() > 1 && !updates->are_lets)
    return NoMatch("its outputs are not computed by lets before the first is stored");
  StatusOr<Exprs> identities = IdentitiesOf(inits->stores, updates->stores);
  if (!identities.ok()) return identities.status();
  MatchedReduction found{nullptr, {}, {}, *std::move(identities), {}};
  Exprs values, there;
  for (const BufferStore& update : updates->stores) {
    found.outputs.push_back(update.buffer);
    found.indices.push_back(update.indices);
    values.push_back(update.value);
    there.push_back(Load(update.buffer, update.indices));
    const std::optional<Expr> term = SecondOperand(update.value);
    if (!term) return NoMatch("its update is no known reducer");
    found.terms.push_back(*term);
  }
  for (const Reducer& reducer : kReducers) {
    if (reducer.arity != values.size() || !AreEqual(reducer.combine(there, found.terms), values)) continue;
    if (reducer.is_identity(found.identities)) found.reducer = &reducer;
  }
  if (found.reducer == nullptr)
    return NoMatch(
        "identity and update are no known commutative reducer: x + y from 0, x * y from 1, min, max, argmin, argmax, "
        "with the output on the left");
  for (const Expr& term : found.terms)
    if (Reads(term, found.outputs)) return NoMatch("its update reads its outputs beside reducing them");
  return found;
}

Stmt MakeUpdate(const Reducer& reducer, const std::vector<Buffer>& outputs, const std::vector<Exprs>& indices,
                const Exprs& terms) {
  Exprs there;
  for (size_t i = 0; i < outputs.size(); ++i) there.push_back(Load(outputs[i], indices[i]));
  const Exprs values = reducer.combine(there, terms);
  if (outputs.size() == 1) return MakeStore(outputs[0], values[0], indices[0]);
  std::vector<Var> vars;
  std::vector<Stmt> stores;
  for (size_t i = 0; i < outputs.size(); ++i) {
    vars.emplace_back("v_" + outputs[i]->name, values[i].dtype());
    stores.push_back(MakeStore(outputs[i], vars[i], indices[i]));
  }
  Stmt update = MakeSeq(std::move(stores));
  for (size_t i = outputs.size(); i-- > 0;) update = LetStmt{values[i], vars[i], update};
  return update;
}

}  // namespace lathe
