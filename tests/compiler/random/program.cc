#include "tests/compiler/random/program.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/compiler/random/stages.h"

namespace lathe {
namespace {

using Stage = bool (*)(Draft&);
struct WeightedStage {
  Stage add;
  int weight;
};
constexpr WeightedStage kMaking[] = {{AddMap, 28},       {AddReduction, 18},    {AddMatmul, 8},     {AddSwap, 4},
                                     {AddTwoOutputs, 4}, {AddBranchInBlock, 4}, {AddLetInBlock, 4}, {AddLoopInBlock, 5},
                                     {AddLocalTile, 4},  {AddReadView, 5},      {AddWriteView, 5},  {AddRowBuffer, 8},
                                     {AddProduct, 8},    {AddSlidingWindow, 8}};
constexpr WeightedStage kUpdating[] = {
    {AddInPlace, 8}, {AddOverwrite, 12}, {AddScatter, 5}, {AddScan, 3}, {AddAccumulation, 4}};

// One that fits; none after many tries.
bool AddOneOf(Draft& draft, std::span<const WeightedStage> stages) {
  int total = 0;
  for (const WeightedStage& stage : stages) total += stage.weight;
  for (int attempt = 0; attempt < 20; ++attempt) {
    int drawn = int(draft.Below(uint64_t(total)));
    for (const WeightedStage& stage : stages) {
      if ((drawn -= stage.weight) >= 0) continue;
      if (stage.add(draft)) return true;
      break;
    }
  }
  return false;
}

// What the stages add while `add` runs, as one statement.
template <typename F>
std::optional<Stmt> Collect(Draft& draft, F add) {
  std::vector<Stmt> before = draft.TakeStmts();
  add();
  std::vector<Stmt> added = draft.TakeStmts();
  draft.PutBack(std::move(before));
  if (added.empty()) return std::nullopt;
  return MakeSeq(std::move(added));
}

// An update under a condition that may fail: the loop's row, or what a buffer says.
void AddConditional(Draft& draft) {
  const auto update = [&] { AddOneOf(draft, kUpdating); };
  const std::optional<Stmt> then_case = Collect(draft, update);
  if (!then_case) return;
  std::optional<Stmt> else_case;
  if (draft.Percent(30)) else_case = Collect(draft, update);
  const Expr flag = Load(draft.IndexBuffer({0, 1}, {0, 2}, false), {0});
  Expr condition = Less(IntConst(flag.dtype(), 0), flag);
  if (draft.shared && draft.Percent(70)) condition = Less(draft.shared->row, 1 + int64_t(draft.Below(3)));
  draft.Add(IfThenElse{condition, *then_case, else_case});
}

void AddStage(Draft& draft) {
  if (draft.Percent(8)) return AddConditional(draft);
  if (draft.Percent(25)) {
    AddOneOf(draft, kUpdating);
  } else {
    AddOneOf(draft, kMaking);
  }
}

// A loop around two or three stages.
void AddSharedLoop(Draft& draft) {
  const Array* array = draft.PickReadable();
  const Dim extent = array != nullptr && draft.Percent(80) ? array->shape[0] : draft.RandomDim();
  const Var i = draft.NewVar("i", extent.is_constant() ? draft.IndexType() : draft.symbol()->dtype());
  const std::optional<Var> let = draft.Percent(15) ? std::optional(draft.NewVar("x", i.dtype())) : std::nullopt;
  draft.shared = SharedLoop{let ? Expr(*let) : Expr(i), extent};
  std::optional<Stmt> body = Collect(draft, [&] {
    for (uint64_t k = 2 + draft.Below(2); k > 0; --k) AddStage(draft);
  });
  draft.EndShared();
  if (!body) return;
  if (let) body = LetStmt{i, *let, *body};
  Expr count = draft.ToExpr(extent);
  if (extent.is_constant()) count = IntConst(i.dtype(), extent.constant);
  draft.Add(For{i, IntConst(i.dtype(), 0), count, ForKind::kSerial, "", {}, *body});
}

// ---- Arguments

std::vector<int64_t> Permutation(int64_t size, Random& random) {
  std::vector<int64_t> values(static_cast<size_t>(size));
  std::iota(values.begin(), values.end(), int64_t{0});
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.Below(i)]);
  return values;
}

Tensor MakeArgument(DataType type, const ParamRole& role, Random& random, int64_t symbol) {
  if (role.kind == ParamRole::Kind::kExtent) return Tensor::FromInts(type, {}, {symbol});
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (const Dim& dim : role.shape) {
    shape.push_back(dim.At(symbol));
    count *= shape.back();
  }
  std::vector<int64_t> values;
  if (role.kind == ParamRole::Kind::kPermutation) values = Permutation(role.indexed.At(symbol), random);
  while (int64_t(values.size()) < count) {
    if (role.kind == ParamRole::Kind::kIndex)
      values.push_back(int64_t(random.Below(uint64_t(role.indexed.At(symbol)))));
    else
      values.push_back(int64_t(random.Below(uint64_t(2 * role.limit + 1))) - role.limit);
  }
  if (!type.is_float()) return Tensor::FromInts(type, shape, values);
  return Tensor::FromDoubles(type, shape, {values.begin(), values.end()});
}

}  // namespace

RandomProgram MakeRandomProgram(uint64_t seed) {
  Draft draft(seed);
  for (uint64_t i = 1 + draft.Below(2); i > 0; --i) draft.NewInput(draft.RandomShape(), ParamRole::Kind::kData);
  int num_stages = 1 + int(draft.Below(4));
  for (int i = 0; i < num_stages; ++i) draft.Percent(25) ? AddSharedLoop(draft) : AddStage(draft);
  AddOneOf(draft, kMaking);
  return draft.Finish();
}

std::vector<Tensor> MakeArguments(const RandomProgram& program, Random random, int64_t symbol) {
  std::vector<Tensor> arguments;
  const std::vector<Param> params = ParamsOf(program.func);
  for (size_t i = 0; i < program.roles.size(); ++i) {
    const Param& param = params[i];
    const auto* buffer = std::get_if<Buffer>(&param);
    const DataType type = buffer != nullptr ? (*buffer)->dtype : std::get<Var>(param).dtype();
    arguments.push_back(MakeArgument(type, program.roles[i], random, symbol));
    if (program.roles[i].kind != ParamRole::Kind::kOutput) continue;
    std::memset(arguments.back().data.data(), 0xa5, arguments.back().data.size());
    arguments.back().is_initialized = false;
  }
  return arguments;
}

}  // namespace lathe
