#include "compiler/relax/executor_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/artifact/extent_writer.h"
#include "compiler/artifact/section_writer.h"
#include "compiler/ir/visitor.h"
#include "compiler/relax/op.h"
#include "compiler/relax/place_slices.h"
#include "compiler/relax/plan_memory.h"
#include "compiler/relax/slices.h"
#include "compiler/relax/visitor.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

// Memory that one or more values (a tensor and its views) lie in.
struct Storage {
  LatheGraphStorage kind = LATHE_STORAGE_ARENA;
  int64_t place = 0;
  LiveRange live;
};

class Planner {
 public:
  explicit Planner(const Function& main) : main_(main) {}

  StatusOr<ExecutorPlan> Plan() {
    RETURN_IF_ERROR(AddInputs());
    Status status;
    VisitBindings(main_, [&](const Binding& binding) {
      if (status.ok()) status = AddBinding(binding).WithContext(binding.var.name());
    });
    RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(AddOutputs());
    LeaveOutCopies();
    PlaceArena();
    for (size_t i = 0; i < plan_.values.size(); ++i) PlaceInStorage(plan_.values[i], storage_of_[i]);
    return std::move(plan_);
  }

 private:
  Status AddInputs() {
    const std::vector<std::string> names = NamesOf("input_names");
    for (size_t i = 0; i < main_.params.size(); ++i) {
      storages_.push_back({LATHE_STORAGE_INPUT, static_cast<int64_t>(i), {}});
      AddSymbols(main_.params[i].struct_info());
    }
    for (size_t i = 0; i < main_.params.size(); ++i) {
      ASSIGN_OR_RETURN(const uint32_t value, AddValue(main_.params[i].struct_info(), i));
      by_var_.emplace(main_.params[i].get(), std::vector<uint32_t>{value});
      plan_.inputs.push_back({i < names.size() ? names[i] : main_.params[i].name(), value});
    }
    return OkStatus();
  }

  std::vector<std::string> NamesOf(const std::string& attr) const {
    std::vector<std::string> names;
    const auto found = main_.attrs.find(attr);
    if (found == main_.attrs.end()) return names;
    for (const Attr& name : std::get<std::vector<Attr>>(found->second)) names.push_back(std::get<std::string>(name));
    return names;
  }

  void AddSymbols(const StructInfo& info) {
    const TensorStructInfo* tensor = info.As<TensorStructInfo>();
    if (tensor == nullptr || !tensor->shape) return;
    for (const PrimExpr& extent : *tensor->shape)
      if (IsVar(extent) && IndexOf(plan_.symbols, extent) < 0) plan_.symbols.emplace_back(extent);
  }

  Status CheckExtents(const StructInfo& info, const PrimShape& shape) const {
    for (const PrimExpr& extent : shape) {
      const auto is_unknown = [&](const lathe::ExprNode* var) {
        return std::none_of(plan_.symbols.begin(), plan_.symbols.end(),
                            [&](const lathe::Var& s) { return s.get() == var; });
      };
      if (UsesVar(extent, is_unknown))
        return InvalidArgument(
            fmt::format("{} has an extent that no input tells; bind its symbolic extents", ToText(info)));
    }
    return OkStatus();
  }

  StatusOr<uint32_t> AddValue(const StructInfo& info, size_t storage) {
    const TensorStructInfo* tensor = info.As<TensorStructInfo>();
    if (tensor == nullptr || !tensor->shape)
      return InvalidArgument(fmt::format("{} has no shape; bind its symbolic extents", ToText(info)));
    RETURN_IF_ERROR(CheckExtents(info, *tensor->shape));
    plan_.values.push_back({LATHE_STORAGE_ARENA, 0, 0, tensor->dtype, *tensor->shape});
    storage_of_.push_back(storage);
    return static_cast<uint32_t>(plan_.values.size() - 1);
  }

  static int64_t Aligned(int64_t bytes) {
    return (bytes + LATHE_BUFFER_ALIGNMENT - 1) / LATHE_BUFFER_ALIGNMENT * LATHE_BUFFER_ALIGNMENT;
  }

  StatusOr<uint32_t> ValueOf(const Expr& e) {
    if (const TensorData* data = AsConstant(e)) return AddConstant(*data, e.struct_info());
    const auto found = by_var_.find(e.get());
    if (found == by_var_.end()) return InternalError("uses a value that no kernel makes");
    if (found->second.size() != 1) return InvalidArgument("uses a tuple as a tensor; take its fields one by one");
    return found->second[0];
  }

  StatusOr<uint32_t> AddConstant(const TensorData& data, const StructInfo& info) {
    const auto [row, is_new] =
        constants_.emplace(std::pair(data.ContentDigest(), data.bytes().size()), plan_.constant_bytes);
    if (is_new) {
      plan_.constants.push_back({data, row->second});
      plan_.constant_bytes += Aligned(static_cast<int64_t>(data.bytes().size()));
    }
    storages_.push_back({LATHE_STORAGE_CONSTANT, row->second, {}});
    return AddValue(info, storages_.size() - 1);
  }

  Status AddBinding(const Binding& binding) {
    if (const TupleGetItem* item = binding.value.As<TupleGetItem>()) return AddField(binding, *item);
    const Call* call = binding.value.As<Call>();
    if (call != nullptr && IsView(*call)) {
      ASSIGN_OR_RETURN(const uint32_t source, ValueOf(call->args[0]));
      ASSIGN_OR_RETURN(const uint32_t value, AddValue(binding.var.struct_info(), storage_of_[source]));
      by_var_.emplace(binding.var.get(), std::vector<uint32_t>{value});
      return OkStatus();
    }
    if (call == nullptr || call->op != &CallTirOp())
      return InternalError("neither a kernel call nor a view; run OptimizeForTuning before");
    return AddCall(binding, *call);
  }

  Status AddField(const Binding& binding, const TupleGetItem& item) {
    const auto found = by_var_.find(item.tuple.get());
    if (found == by_var_.end() || static_cast<size_t>(item.index) >= found->second.size())
      return InternalError("takes a field of what no kernel makes");
    by_var_.emplace(binding.var.get(), std::vector<uint32_t>{found->second[item.index]});
    return OkStatus();
  }

  Status AddCall(const Binding& binding, const Call& call) {
    const int now = static_cast<int>(plan_.calls.size());
    PlanCall planned{call.args[0].As<GlobalVar>()->name, {}};
    for (const Expr& arg : call.args[1].As<TupleExpr>()->fields) {
      ASSIGN_OR_RETURN(const uint32_t value, ValueOf(arg));
      storages_[storage_of_[value]].live.last = now;
      planned.args.push_back(value);
    }
    const StructInfo& info = binding.var.struct_info();
    const TupleStructInfo* tuple = info.As<TupleStructInfo>();
    std::vector<uint32_t> results;
    for (const StructInfo& result : tuple == nullptr ? std::vector<StructInfo>{info} : tuple->fields) {
      ASSIGN_OR_RETURN(const uint32_t value, AddResult(result, now));
      results.push_back(value);
      planned.args.push_back(value);
    }
    planned.num_results = results.size();
    AddCopy(call, planned);
    by_var_.emplace(binding.var.get(), std::move(results));
    plan_.calls.push_back(std::move(planned));
    return OkStatus();
  }

  // `planned` is about to become the last call.
  void AddCopy(const Call& call, const PlanCall& planned) {
    const std::vector<int64_t> joined_at = IntsAttr(call.attrs, kJoinedAtAttr);
    const size_t number = plan_.calls.size(), result = storage_of_[planned.args.back()];
    CopyCall join{number, result, {}};
    for (size_t i = 0; i < joined_at.size(); ++i) join.parts.push_back({storage_of_[planned.args[i]], joined_at[i]});
    if (!joined_at.empty()) joins_.push_back(std::move(join));
    if (call.attrs.contains(kCutAtAttr))
      cuts_.push_back({number, storage_of_[planned.args[0]], {{result, IntAttr(call.attrs, kCutAtAttr, 0)}}});
  }

  StatusOr<uint32_t> AddResult(const StructInfo& info, int now) {
    storages_.push_back({LATHE_STORAGE_ARENA, 0, {0, now, now}});
    ASSIGN_OR_RETURN(const uint32_t result, AddValue(info, storages_.size() - 1));
    const PlanValue& value = plan_.values[result];
    if (const std::optional<std::vector<int64_t>> shape = ConstantShape(value.shape)) {
      storages_.back().live.bytes = ElementCount(*shape).value_or(0) * value.dtype.bytes();
    } else {
      storages_.back().kind = LATHE_STORAGE_SIZED;
      storages_.back().place = num_sized_++;
    }
    return result;
  }

  // The first result that is made in the arena moves to the caller's memory; one that is an input, a constant or made
  // already is copied.
  Status AddOutputs() {
    const Expr& result = main_.body.body;
    const TupleExpr* tuple = result.As<TupleExpr>();
    const std::vector<Expr> results = tuple == nullptr ? std::vector<Expr>{result} : tuple->fields;
    const std::vector<std::string> names = NamesOf("output_names");
    for (size_t i = 0; i < results.size(); ++i) {
      ASSIGN_OR_RETURN(const uint32_t value, ValueOf(results[i]));
      Storage& storage = storages_[storage_of_[value]];
      if (storage.kind == LATHE_STORAGE_ARENA || storage.kind == LATHE_STORAGE_SIZED) {
        storage.kind = LATHE_STORAGE_OUTPUT;
        storage.place = static_cast<int64_t>(i);
      }
      plan_.outputs.push_back({i < names.size() ? names[i] : fmt::format("output_{}", i), value});
    }
    return OkStatus();
  }

  // What lies inside of another storage keeps that one alive. Nothing is written twice, so whoever reads the whole or a
  // part finds in it what it would have found in memory of its own.
  void LeaveOutCopies() {
    std::vector<LatheGraphStorage> kinds;
    for (const Storage& storage : storages_) kinds.push_back(storage.kind);
    SlicePlan slices = PlaceSlices(kinds, joins_, cuts_, LATHE_BUFFER_ALIGNMENT);
    inside_ = std::move(slices.inside);
    for (size_t i = 0; i < storages_.size(); ++i) {
      if (!inside_[i]) continue;
      LiveRange& whole = storages_[inside_[i]->memory].live;
      whole.first = std::min(whole.first, storages_[i].live.first);
      whole.last = std::max(whole.last, storages_[i].live.last);
    }
    std::vector<size_t>& needless = slices.needless_calls;
    std::sort(needless.begin(), needless.end());
    std::vector<PlanCall> kept;
    for (size_t i = 0; i < plan_.calls.size(); ++i) {
      if (!std::binary_search(needless.begin(), needless.end(), i)) kept.push_back(std::move(plan_.calls[i]));
    }
    plan_.calls = std::move(kept);
  }

  void PlaceInStorage(PlanValue& value, size_t storage) const {
    const Slice slice = inside_[storage].value_or(Slice{storage, 0});
    value.storage = storages_[slice.memory].kind;
    value.place = storages_[slice.memory].place;
    value.offset = slice.offset / value.dtype.bytes();
  }

  void PlaceArena() {
    std::vector<LiveRange> ranges;
    std::vector<Storage*> placed;
    for (size_t i = 0; i < storages_.size(); ++i) {
      Storage& storage = storages_[i];
      if (storage.kind != LATHE_STORAGE_ARENA || inside_[i]) continue;
      ranges.push_back(storage.live);
      placed.push_back(&storage);
    }
    const ArenaPlan arena = StaticPlanBlockMemory(ranges, LATHE_BUFFER_ALIGNMENT);
    for (size_t i = 0; i < placed.size(); ++i) placed[i]->place = arena.offsets[i];
    plan_.arena_bytes = arena.bytes;
  }

  const Function& main_;
  ExecutorPlan plan_;
  std::vector<Storage> storages_;
  std::vector<size_t> storage_of_;  // Per value.
  std::unordered_map<const ExprNode*, std::vector<uint32_t>>
      by_var_;  // The tensors of a variable: of a tuple, several.
  std::vector<CopyCall> joins_, cuts_;
  std::vector<std::optional<Slice>> inside_;  // Per storage.
  int64_t num_sized_ = 0;
  std::map<std::pair<Digest, size_t>, int64_t> constants_;
};

std::vector<LatheGraphPort> Ports(const std::vector<PlanPort>& ports, SectionWriter& writer) {
  std::vector<LatheGraphPort> rows;
  for (const PlanPort& port : ports) rows.push_back({writer.String(port.name), port.value});
  return rows;
}

StatusOr<std::vector<LatheGraphValue>> Values(const ExecutorPlan& plan, ExtentWriter& extents, SectionWriter& writer) {
  std::vector<LatheGraphValue> values;
  for (const PlanValue& value : plan.values) {
    ASSIGN_OR_RETURN(const std::vector<LatheMetaDim> dims, extents.Write(value.shape, "extent " + ToText(value.shape)));
    LatheGraphValue row = {};
    row.place = static_cast<uint64_t>(value.place);
    row.storage = static_cast<uint8_t>(value.storage);
    row.dtype_code = static_cast<uint8_t>(value.dtype.code);
    row.dtype_bits = value.dtype.bits;
    row.rank = static_cast<uint8_t>(value.shape.size());
    row.dims_offset = writer.Table(dims);
    row.offset = {value.offset, LATHE_DIM_CONSTANT, 0};
    values.push_back(row);
  }
  return values;
}

std::vector<LatheGraphCall> Calls(const ExecutorPlan& plan, SectionWriter& writer) {
  std::vector<LatheGraphCall> calls;
  for (const PlanCall& call : plan.calls) {
    std::vector<LatheGraphArg> args;
    for (const uint32_t value : call.args) args.push_back({{}, LATHE_ARG_VALUE, value});
    calls.push_back({writer.String(call.kernel), static_cast<uint32_t>(args.size()), writer.Table(args), 0});
  }
  return calls;
}

std::vector<LatheGraphSymbol> Symbols(const ExecutorPlan& plan, SectionWriter& writer) {
  constexpr int64_t kLargestExtent = int64_t{1} << 47;
  std::vector<LatheGraphSymbol> symbols;
  for (const lathe::Var& symbol : plan.symbols) symbols.push_back({writer.String(symbol.name()), 0, 0, kLargestExtent});
  return symbols;
}

}  // namespace

std::vector<int64_t> PlanValue::constant_shape() const {
  const std::optional<std::vector<int64_t>> constant = ConstantShape(shape);
  CHECK(constant.has_value()) << ToText(shape) << " is symbolic";
  return *constant;
}

StatusOr<ExecutorPlan> MakeExecutorPlan(const IRModule& module) {
  const Function* main = module.FindFunction(kMainFunction);
  if (main == nullptr) return InvalidArgument("plan executor: no function \"main\"; import a model first");
  StatusOr<ExecutorPlan> plan = Planner(*main).Plan();
  if (!plan.ok()) return plan.status().WithContext("plan executor");
  return plan;
}

StatusOr<std::string> SerializeGraph(const ExecutorPlan& plan) {
  SectionWriter writer(sizeof(LatheGraphHeader) + sizeof(LatheGraphTables));
  ExtentWriter extents;
  extents.Use(plan.symbols, {});
  ASSIGN_OR_RETURN(const std::vector<LatheGraphValue> values, Values(plan, extents, writer));
  const std::vector<LatheGraphCall> calls = Calls(plan, writer);
  const std::vector<LatheGraphSymbol> symbols = Symbols(plan, writer);
  const std::vector<LatheGraphPort> inputs = Ports(plan.inputs, writer), outputs = Ports(plan.outputs, writer);
  LatheGraphTables tables = {};
  tables.num_terms = static_cast<uint32_t>(extents.terms().size());
  tables.terms_offset = writer.Table(extents.terms());
  tables.num_symbols = static_cast<uint32_t>(symbols.size());
  tables.symbols_offset = writer.Table(symbols);
  LatheGraphHeader header = {};
  header.magic = LATHE_GRAPH_MAGIC;
  header.version = LATHE_GRAPH_VERSION;
  header.arena_bytes = static_cast<uint64_t>(plan.arena_bytes);
  header.constant_bytes = static_cast<uint64_t>(plan.constant_bytes);
  header.num_values = static_cast<uint32_t>(values.size());
  header.values_offset = writer.Table(values);
  header.num_calls = static_cast<uint32_t>(calls.size());
  header.calls_offset = writer.Table(calls);
  header.num_inputs = static_cast<uint32_t>(inputs.size());
  header.inputs_offset = writer.Table(inputs);
  header.num_outputs = static_cast<uint32_t>(outputs.size());
  header.outputs_offset = writer.Table(outputs);
  header.total_bytes = writer.size();
  return writer.Finish(header, tables);
}

std::string SerializeConstants(const ExecutorPlan& plan) {
  std::string bytes(static_cast<size_t>(plan.constant_bytes), '\0');
  for (const PlacedConstant& constant : plan.constants) {
    if (!constant.data.bytes().empty())
      std::memcpy(bytes.data() + constant.offset, constant.data.bytes().data(), constant.data.bytes().size());
  }
  return bytes;
}

}  // namespace lathe::relax
