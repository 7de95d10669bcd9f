#include "compiler/relax/executor_plan.h"

#include <fmt/format.h>

#include <map>

#include "compiler/relax/op.h"
#include "compiler/relax/plan_memory.h"
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
    PlaceArena();
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      plan_.values[i].storage = storages_[storage_of_[i]].kind;
      plan_.values[i].place = storages_[storage_of_[i]].place;
    }
    return std::move(plan_);
  }

 private:
  Status AddInputs() {
    const std::vector<std::string> names = NamesOf("input_names");
    for (size_t i = 0; i < main_.params.size(); ++i) {
      storages_.push_back({LATHE_STORAGE_INPUT, static_cast<int64_t>(i), {}});
      ASSIGN_OR_RETURN(const uint32_t value, AddValue(main_.params[i].struct_info(), storages_.size() - 1));
      by_var_.emplace(main_.params[i].get(), value);
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

  StatusOr<uint32_t> AddValue(const StructInfo& info, size_t storage) {
    std::optional<std::vector<int64_t>> shape = ConstantShapeOf(info);
    if (!shape)
      return InvalidArgument(fmt::format("{} has no constant shape; bind its symbolic extents", ToText(info)));
    plan_.values.push_back({LATHE_STORAGE_ARENA, 0, info.As<TensorStructInfo>()->dtype, *std::move(shape)});
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
    return found->second;
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
    const Call* call = binding.value.As<Call>();
    if (call != nullptr && IsView(*call)) {
      ASSIGN_OR_RETURN(const uint32_t source, ValueOf(call->args[0]));
      ASSIGN_OR_RETURN(const uint32_t value, AddValue(binding.var.struct_info(), storage_of_[source]));
      by_var_.emplace(binding.var.get(), value);
      return OkStatus();
    }
    if (call == nullptr || call->op != &CallTirOp())
      return InternalError("neither a kernel call nor a view; run OptimizeForTuning before");
    const int now = static_cast<int>(plan_.calls.size());
    PlanCall planned{call->args[0].As<GlobalVar>()->name, {}};
    for (const Expr& arg : call->args[1].As<TupleExpr>()->fields) {
      ASSIGN_OR_RETURN(const uint32_t value, ValueOf(arg));
      storages_[storage_of_[value]].live.last = now;
      planned.args.push_back(value);
    }
    storages_.push_back({LATHE_STORAGE_ARENA, 0, {0, now, now}});
    ASSIGN_OR_RETURN(const uint32_t result, AddValue(binding.var.struct_info(), storages_.size() - 1));
    storages_.back().live.bytes =
        ElementCount(plan_.values[result].shape).value_or(0) * plan_.values[result].dtype.bytes();
    by_var_.emplace(binding.var.get(), result);
    planned.args.push_back(result);
    plan_.calls.push_back(std::move(planned));
    return OkStatus();
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
      if (storage.kind == LATHE_STORAGE_ARENA) {
        storage.kind = LATHE_STORAGE_OUTPUT;
        storage.place = static_cast<int64_t>(i);
      }
      plan_.outputs.push_back({i < names.size() ? names[i] : fmt::format("output_{}", i), value});
    }
    return OkStatus();
  }

  void PlaceArena() {
    std::vector<LiveRange> ranges;
    std::vector<Storage*> placed;
    for (Storage& storage : storages_) {
      if (storage.kind != LATHE_STORAGE_ARENA) continue;
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
  std::unordered_map<const ExprNode*, uint32_t> by_var_;
  std::map<std::pair<Digest, size_t>, int64_t> constants_;
};

// Appends tables and strings, each at a multiple of 8, and gives their offsets.
class SectionWriter {
 public:
  explicit SectionWriter(size_t header_bytes) : bytes_(header_bytes, '\0') {}
  template <typename T>
  uint32_t Table(const std::vector<T>& rows) {
    const uint32_t offset = Align();
    bytes_.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(T));
    return offset;
  }
  uint32_t String(const std::string& text) {
    const auto [row, is_new] = strings_.emplace(text, 0);
    if (is_new) {
      row->second = Align();
      bytes_.append(text.c_str(), text.size() + 1);
    }
    return row->second;
  }
  std::string Finish(LatheGraphHeader header) {
    Align();
    header.total_bytes = static_cast<uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &header, sizeof(header));
    return std::move(bytes_);
  }

 private:
  uint32_t Align() {
    bytes_.resize((bytes_.size() + 7) / 8 * 8, '\0');
    return static_cast<uint32_t>(bytes_.size());
  }
  std::string bytes_;
  std::map<std::string, uint32_t> strings_;
};

std::vector<LatheGraphPort> Ports(const std::vector<PlanPort>& ports, SectionWriter& writer) {
  std::vector<LatheGraphPort> rows;
  for (const PlanPort& port : ports) rows.push_back({writer.String(port.name), port.value});
  return rows;
}

}  // namespace

StatusOr<ExecutorPlan> MakeExecutorPlan(const IRModule& module) {
  const Function* main = module.FindFunction(kMainFunction);
  if (main == nullptr) return InvalidArgument("plan executor: no function \"main\"; import a model first");
  StatusOr<ExecutorPlan> plan = Planner(*main).Plan();
  if (!plan.ok()) return plan.status().WithContext("plan executor");
  return plan;
}

std::string SerializeGraph(const ExecutorPlan& plan) {
  SectionWriter writer(sizeof(LatheGraphHeader));
  std::vector<LatheGraphValue> values;
  for (const PlanValue& value : plan.values) {
    values.push_back({static_cast<uint64_t>(value.place), static_cast<uint8_t>(value.storage),
                      static_cast<uint8_t>(value.dtype.code), value.dtype.bits,
                      static_cast<uint8_t>(value.shape.size()), writer.Table(value.shape)});
  }
  std::vector<LatheGraphCall> calls;
  for (const PlanCall& call : plan.calls) {
    calls.push_back({writer.String(call.kernel), static_cast<uint32_t>(call.args.size()), writer.Table(call.args), 0});
  }
  const std::vector<LatheGraphPort> inputs = Ports(plan.inputs, writer), outputs = Ports(plan.outputs, writer);
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
  return writer.Finish(header);
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
