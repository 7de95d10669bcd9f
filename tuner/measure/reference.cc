#include "tuner/measure/reference.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/schedule.h"
#include "compiler/script/printer.h"
#include "compiler/target/target.h"
#include "compiler/transform/widen_to_float64.h"
#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/measure/child_program.h"
#include "tuner/measure/input_ranges.h"
#include "tuner/measure/tolerance.h"
#include "tuner/space/default_schedule.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kUnscheduled[] = "[[],[]]";
constexpr int kKilledTries = 3;  // A child that somebody killed says nothing about the function.

DType ToRuntime(DataType dtype) { return {static_cast<DTypeCode>(dtype.code), dtype.bits, dtype.lanes}; }

DataType TypeOf(const Param& param) {
  if (const auto* buffer = std::get_if<Buffer>(&param)) return (*buffer)->dtype;
  return std::get<Var>(param).dtype();
}

// For lathe-evaluate: "float32,int64:0:99".
std::string InputsText(const PrimFunc& func, const std::vector<ParamRange>& ranges) {
  std::vector<std::string> inputs;
  for (const Param& param : ParamsOf(func)) inputs.push_back(ToRuntime(TypeOf(param)).Name());
  for (const auto& [param, range] : ranges) inputs[param] += fmt::format(":{}:{}", range.low, range.high);
  return fmt::format("{}", fmt::join(inputs, ","));
}

// Every buffer that something in a function writes, by store or by what a block declares (it may write through a view).
class WrittenBuffers : public StmtExprVisitor {
 public:
  bool Contains(const Buffer& buffer) const { return written_.contains(buffer->data.get()); }

 protected:
  void VisitBlock(const Block& block) override {
    for (const BufferRegion& region : block->writes) written_.insert(region.buffer->data.get());
    StmtExprVisitor::VisitBlock(block);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    written_.insert(store.buffer->data.get());
    StmtExprVisitor::VisitBufferStore(self, store);
  }

 private:
  std::unordered_set<const ExprNode*> written_;  // Data variables: a write through one buffer is one of all over it.
};

// The layout of the reference.
struct Output {
  DType dtype;
  int64_t elements = 0;
};
StatusOr<std::vector<Output>> OutputsOf(const PrimFunc& func) {
  WrittenBuffers written;
  written(func.body);
  std::vector<Output> outputs;
  for (const ParamBuffer& entry : func.buffer_map) {
    const Buffer* buffer = &entry.buffer;
    if (!written.Contains(*buffer)) continue;
    const auto shape = ConstantShape((*buffer)->shape);
    if (!shape)
      return Unimplemented(fmt::format("reference of {}: output \"{}\" has a symbolic shape; give the extents values",
                                       func.name, (*buffer)->name));
    int64_t elements = (*buffer)->dtype.lanes;
    for (const int64_t extent : *shape) elements *= extent;
    outputs.push_back({ToRuntime((*buffer)->dtype.element()), elements});
  }
  return outputs;
}

StatusOr<std::vector<double>> Tolerances(const PrimFunc& func, std::string_view content) {
  ASSIGN_OR_RETURN(const std::vector<Output> outputs, OutputsOf(func));
  const WorkloadFacts facts = FactsOf(func);
  std::vector<double> values(content.size() / sizeof(double));
  std::memcpy(values.data(), content.data(), values.size() * sizeof(double));
  std::vector<double> tolerances;
  size_t offset = 0;
  for (const Output& output : outputs) {
    const auto count = static_cast<size_t>(output.elements);
    if (offset + count > values.size()) break;
    const std::span<const double> part = std::span(values).subspan(offset, count);
    if (std::none_of(part.begin(), part.end(), [](double v) { return std::isfinite(v); })) {
      return FailedPrecondition(fmt::format("reference of {}: no finite value in output {}; nothing could be checked",
                                            func.name, tolerances.size()));
    }
    tolerances.push_back(ToleranceFor(facts, output.dtype, part));
    offset += count;
  }
  if (offset != values.size()) {
    return FailedPrecondition(
        fmt::format("reference of {}: {} values came out, its outputs have {}; the compiler sees other buffers written",
                    func.name, values.size(), offset));
  }
  return tolerances;
}

Status WriteFile(const std::string& path, std::string_view content) {
  const std::string aside = fmt::format("{}.{}.new", path, getpid());
  std::ofstream file(aside, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  std::error_code error;
  if (file) fs::rename(aside, path, error);
  if (file && !error) return OkStatus();
  const int why = error ? error.value() : errno;
  fs::remove(aside, error);
  return Status(MeansFullDisk(why) ? StatusCode::kResourceExhausted : StatusCode::kUnavailable,
                fmt::format("write {}: {}", path, std::strerror(why)));
}

// The function is at fault, not whoever builds it.
bool IsRefused(const BuildOutcome& outcome) {
  const auto* failed = std::get_if<BuildFailed>(&outcome);
  return failed != nullptr && failed->kind != BuildFailed::Kind::kBroken;
}

std::string CacheKey(const Digest& workload, uint64_t seed) {
  return Sha256(fmt::format("lathe.reference/2\n{}\n{}", workload.ToHex(), seed)).ToHex();
}

// nullopt unless the entry is whole and its blob is there.
std::optional<Reference> ReadEntry(const std::string& path, ReferenceBlobs& blobs) {
  const StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return std::nullopt;
  const json entry = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!entry.is_object() || !entry.contains("blob") || !entry["blob"].is_string()) return std::nullopt;
  const StatusOr<Digest> digest = Digest::FromHex(entry["blob"].get<std::string>());
  Reference reference;
  const auto size = entry.find("size");
  const auto tolerances = entry.find("tolerances");
  const auto ranges = entry.find("input_ranges");
  if (!digest.ok() || size == entry.end() || !size->is_number_integer() || tolerances == entry.end() ||
      !tolerances->is_array() || ranges == entry.end() || !ranges->is_array())
    return std::nullopt;
  reference.blob = *digest;
  reference.size_bytes = size->get<int64_t>();
  for (const json& value : *tolerances) {
    if (!value.is_number()) return std::nullopt;
    reference.tolerances.push_back(value.get<double>());
  }
  for (const json& range : ranges->get_ref<const json::array_t&>()) {
    const bool is_range = range.is_array() && range.size() == 3 &&
                          std::all_of(range.begin(), range.end(), [](const json& x) { return x.is_number_integer(); });
    if (!is_range) return std::nullopt;
    reference.input_ranges.push_back({range[0].get<uint32_t>(), {range[1].get<int64_t>(), range[2].get<int64_t>()}});
  }
  if (!blobs.HasBlob(reference.blob, reference.size_bytes)) return std::nullopt;
  return reference;
}

}  // namespace

ReferenceMaker::ReferenceMaker(ReferenceOptions options, ReferenceBlobs& blobs)
    : options_(std::move(options)), blobs_(blobs) {}
ReferenceMaker::~ReferenceMaker() = default;

StatusOr<Reference> ReferenceMaker::Make(const Digest& workload, const PrimFunc& func, uint64_t seed) {
  std::error_code error;
  fs::create_directories(options_.directory, error);
  if (error) return Unavailable(fmt::format("create {}: {}", options_.directory, error.message()));
  const std::string entry_path = fmt::format("{}/{}.json", options_.directory, CacheKey(workload, seed));
  if (std::optional<Reference> known = ReadEntry(entry_path, blobs_)) return *std::move(known);
  Reference reference{.input_ranges = InputRangesOf(func)};
  ASSIGN_OR_RETURN(const std::string content, Compute(func, seed, reference.input_ranges));
  ASSIGN_OR_RETURN(reference.tolerances, Tolerances(func, content));
  ASSIGN_OR_RETURN(reference.blob, blobs_.PutBlob(content));
  reference.size_bytes = static_cast<int64_t>(content.size());
  json ranges = json::array();
  for (const auto& [param, range] : reference.input_ranges) ranges.push_back({param, range.low, range.high});
  const json entry = {{"blob", reference.blob.ToHex()},
                      {"size", reference.size_bytes},
                      {"tolerances", reference.tolerances},
                      {"input_ranges", ranges}};
  RETURN_IF_ERROR(WriteFile(entry_path, entry.dump()));
  return reference;
}

StatusOr<std::string> ReferenceMaker::Compute(const PrimFunc& func, uint64_t seed,
                                              const std::vector<ParamRange>& ranges) {
  ASSIGN_OR_RETURN(const std::string module, BuildWidened(func));
  const std::string stem = fmt::format("{}/{}-{}", options_.directory, getpid(), Sha256(module).ToHex().substr(0, 16));
  const std::string module_path = stem + ".so", output_path = stem + ".out";
  RETURN_IF_ERROR(WriteFile(module_path, module));
  const std::string program = options_.program.empty() ? ProgramBeside("lathe-evaluate") : options_.program;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.time_limit).count();
  Status ran;
  for (int tries = 0; tries < kKilledTries && (tries == 0 || ran.code() == StatusCode::kUnavailable); ++tries) {
    ran = RunChildProgram({program, module_path, func.name, std::to_string(seed), InputsText(func, ranges), output_path,
                           std::to_string(options_.memory_limit_bytes), std::to_string(seconds)},
                          options_.time_limit, is_cancelled_);
  }
  StatusOr<std::string> content = ran.ok() ? ReadWholeFile(output_path) : StatusOr<std::string>(ran);
  std::error_code ignored;
  fs::remove(module_path, ignored);
  fs::remove(output_path, ignored);
  if (!content.ok()) return content.status().WithContext(fmt::format("compute the float64 reference of {}", func.name));
  return content;
}

StatusOr<std::string> ReferenceMaker::BuildWidened(const PrimFunc& func) {
  const PrimFunc widened = WidenToFloat64(func);
  ASSIGN_OR_RETURN(const Target host, Target::Parse("auto"));
  BuildRequest request{.workload_text = Print(IRModule{{widened}}),
                       .trace_json = kUnscheduled,
                       .target = host.ToString(),
                       .time_limit = options_.time_limit};
  const StatusOr<Schedule> scheduled = DefaultSchedule(widened, host);
  if (scheduled.ok()) request.trace_json = scheduled->trace().ToJson();
  ASSIGN_OR_RETURN(BuildOutcome outcome, Build(request));
  if (IsRefused(outcome) && request.trace_json != kUnscheduled) {
    request.trace_json = kUnscheduled;  // Plain loops are slow, but there is little that they can break.
    ASSIGN_OR_RETURN(outcome, Build(request));
  }
  const auto* failed = std::get_if<BuildFailed>(&outcome);
  if (failed == nullptr) return std::move(std::get<BuiltModule>(outcome).bytes);
  return Status(IsRefused(outcome) ? StatusCode::kFailedPrecondition : failed->code,
                fmt::format("build the float64 reference of {}: {}", func.name, failed->message));
}

StatusOr<BuildOutcome> ReferenceMaker::Build(const BuildRequest& request) {
  BuildOutcome outcome;
  for (int tries = 0; tries < kKilledTries; ++tries) {
    if (builder_ == nullptr) {
      ASSIGN_OR_RETURN(std::unique_ptr<Builder> builder, options_.builders());
      std::lock_guard lock(mutex_);
      builder_ = std::move(builder);
    }
    if (is_cancelled_) return Cancelled("build the float64 reference: it was cancelled");
    outcome = builder_->Build(request);
    const auto* failed = std::get_if<BuildFailed>(&outcome);
    if (failed == nullptr || failed->kind != BuildFailed::Kind::kBroken) break;
    std::lock_guard lock(mutex_);
    builder_.reset();
  }
  return outcome;
}

void ReferenceMaker::Cancel() {
  is_cancelled_ = true;
  std::lock_guard lock(mutex_);
  if (builder_ != nullptr) builder_->Cancel();
}

}  // namespace lathe
