#include "runner/runner_protocol.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "runner/sandbox.h"

namespace lathe {
namespace {

static_assert(std::endian::native == std::endian::little, "records are copied as they lie in memory");

constexpr uint32_t kMagic = 0x5254484c;  // "LHTR"

struct WireHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t type;
  uint32_t size;  // Of the whole record.
  uint32_t key;
};

struct WireReady {
  static constexpr RecordType kType = RecordType::kReady;
  WireHeader header;
  int32_t inner_pid;
  uint32_t sandbox;
};

struct WirePolicy {
  uint32_t version, regime, warmup_calls, min_repeats, max_repeats, max_redone;
  int64_t warmup_ns, min_batch_ns, budget_ns;
  double goal_half_width, noisy_half_width, abandon_factor, abandon_first_factor, abandon_batch_factor, race_factor,
      max_other_share;
};

struct WireRange {
  int64_t low, high;
  uint32_t param, reserved;
};

struct WireSpec {
  static constexpr RecordType kType = RecordType::kSpec;
  WireHeader header;
  uint64_t input_seed, memory_limit_bytes;
  int64_t wall_limit_ns;
  double incumbent_ns;
  WirePolicy policy;
  uint32_t codegen_version, num_threads, num_tolerances, num_symbols, num_cpus, num_ranges;
  double tolerances[kMaxTolerances];
  int64_t symbols[kMaxSymbolValues];
  int32_t cpus[kMaxRunCpus];
  WireRange ranges[kMaxInputRanges];
  char kernel_name[kMaxKernelNameBytes + 1];
  char artifact_path[kMaxPathBytes + 1];
  char reference_path[kMaxPathBytes + 1];
};

struct WireProgress {
  static constexpr RecordType kType = RecordType::kProgress;
  WireHeader header;
  uint32_t phase, reserved;
  uint64_t calls;
};

struct WireReport {
  static constexpr RecordType kType = RecordType::kReport;
  WireHeader header;
  uint32_t status;
  int32_t signal, kernel_error;
  uint32_t checked;
  double max_error, lower_bound_ns;
  uint64_t calls_per_sample, total_calls;
  uint32_t redone, disturbed, num_samples, reserved;
  int64_t load_ns, inputs_ns, check_ns, timing_ns;
  double samples_ns[kMaxSamples];
  char message[kMaxReportMessageBytes + 1];
};

// The layout is the format: a compiler that pads otherwise must not build this.
static_assert(sizeof(WireHeader) == 16 && sizeof(WireReady) == 24 && sizeof(WireProgress) == 32);
static_assert(sizeof(WirePolicy) == 104 &&
              sizeof(WireSpec) == 16 + 32 + 104 + 24 + 512 + 512 + 256 + 1536 + 1024 + 4096 + 4096);
static_assert(sizeof(WireReport) == 16 + 16 + 32 + 16 + 32 + 2048 + 4096);
static_assert(sizeof(WireSpec) <= kMaxRecordBytes && sizeof(WireReport) <= kMaxRecordBytes);

RuntimeError Refuse(const char* record, const std::string& what) {
  return {RuntimeCode::kDataLoss, FormatText("decode %s: %s", record, what.c_str())};
}

template <typename Wire>
std::vector<std::byte> ToBytes(Wire& wire) {
  wire.header = {kMagic, kRunnerProtocolVersion, static_cast<uint16_t>(Wire::kType), sizeof(Wire), 0};
  const std::span<const std::byte> bytes = std::as_bytes(std::span<Wire>(&wire, 1));
  return {bytes.begin(), bytes.end()};
}

template <typename Wire>
RuntimeResult<Wire> FromBytes(const char* record, std::span<const std::byte> bytes) {
  RUNTIME_ASSIGN_OR_RETURN(const RecordType type, DecodeRecordType(bytes));
  if (type != Wire::kType) return Refuse(record, FormatText("record type %u", static_cast<unsigned>(type)));
  if (bytes.size() != sizeof(Wire))
    return Refuse(record, FormatText("%zu bytes, %zu required", bytes.size(), sizeof(Wire)));
  Wire wire;
  std::memcpy(&wire, bytes.data(), sizeof(wire));
  return wire;
}

template <size_t N>
RuntimeError PutString(const char* what, const std::string& text, char (&field)[N]) {
  if (text.size() >= N || text.find('\0') != std::string::npos) {
    return {RuntimeCode::kInvalidArgument,
            FormatText("encode run spec: %s of %zu bytes, at most %zu without NUL allowed", what, text.size(), N - 1)};
  }
  std::memcpy(field, text.data(), text.size());
  return {};
}

template <typename T, size_t N>
RuntimeError PutList(const char* what, const std::vector<T>& list, T (&field)[N], uint32_t& count) {
  if (list.size() > N) {
    return {RuntimeCode::kInvalidArgument,
            FormatText("encode run spec: %zu %s, at most %zu allowed", list.size(), what, N)};
  }
  std::copy(list.begin(), list.end(), field);
  count = static_cast<uint32_t>(list.size());
  return {};
}

template <size_t N>
std::string GetString(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

// Foreign text that will be shown to people: one line of printable ASCII.
template <size_t N>
std::string GetPrintable(const char (&field)[N]) {
  std::string text = GetString(field);
  for (char& c : text) c = c == '\n' || c == '\t' ? ' ' : c < 0x20 || c > 0x7e ? '?' : c;
  return text;
}

bool IsAmount(double x) { return std::isfinite(x) && x >= 0; }

WirePolicy ToWire(const MeasurePolicy& p) {
  return {p.version,
          static_cast<uint32_t>(p.regime),
          p.warmup_calls,
          p.min_repeats,
          p.max_repeats,
          p.max_redone,
          p.warmup_ns,
          p.min_batch_ns,
          p.budget_ns,
          p.goal_half_width,
          p.noisy_half_width,
          p.abandon_factor,
          p.abandon_first_factor,
          p.abandon_batch_factor,
          p.race_factor,
          p.max_other_share};
}

RuntimeResult<MeasurePolicy> FromWire(const WirePolicy& w) {
  if (w.version != kMeasurePolicyVersion) {
    return RuntimeError{
        RuntimeCode::kFailedPrecondition,
        FormatText("decode run spec: measurement policy version %u, this runner has %u; use programs of one release",
                   w.version, kMeasurePolicyVersion)};
  }
  if (w.regime > static_cast<uint32_t>(CacheRegime::kCold))
    return Refuse("run spec", FormatText("cache regime %u", w.regime));
  if (w.min_repeats < 1 || w.max_repeats < w.min_repeats || w.max_repeats > kMaxSamples || w.warmup_ns < 0 ||
      w.min_batch_ns < 0 || w.budget_ns < 0 || !IsAmount(w.goal_half_width) || !IsAmount(w.noisy_half_width) ||
      !IsAmount(w.abandon_factor) || !IsAmount(w.abandon_first_factor) || !IsAmount(w.abandon_batch_factor) ||
      !IsAmount(w.race_factor) || !IsAmount(w.max_other_share)) {
    return Refuse("run spec",
                  FormatText("policy with %u to %u repeats has a number out of range", w.min_repeats, w.max_repeats));
  }
  return MeasurePolicy{w.version,
                       static_cast<CacheRegime>(w.regime),
                       w.warmup_ns,
                       w.warmup_calls,
                       w.min_batch_ns,
                       w.min_repeats,
                       w.max_repeats,
                       w.budget_ns,
                       w.goal_half_width,
                       w.noisy_half_width,
                       w.abandon_factor,
                       w.abandon_first_factor,
                       w.abandon_batch_factor,
                       w.race_factor,
                       w.max_redone,
                       w.max_other_share};
}

bool IsTimed(uint32_t status) { return status <= static_cast<uint32_t>(RunStatus::kCensored); }

RuntimeError CheckReport(const WireReport& w) {
  if (w.status >= kNumRunStatuses) return Refuse("run report", FormatText("status %u", w.status));
  if (w.num_samples > kMaxSamples)
    return Refuse("run report", FormatText("%u samples, at most %u allowed", w.num_samples, kMaxSamples));
  for (uint32_t i = 0; i < w.num_samples; ++i) {
    if (!IsAmount(w.samples_ns[i]) || w.samples_ns[i] == 0)
      return Refuse("run report", FormatText("sample %u is %g ns", i, w.samples_ns[i]));
  }
  if (IsTimed(w.status) && w.num_samples == 0) return Refuse("run report", "a timed status without samples");
  if (!IsAmount(w.max_error) || !IsAmount(w.lower_bound_ns))
    return Refuse("run report", "an amount is negative or not finite");
  if (w.status == static_cast<uint32_t>(RunStatus::kCensored) && w.lower_bound_ns == 0)
    return Refuse("run report", "censored without a bound");
  if (w.load_ns < 0 || w.inputs_ns < 0 || w.check_ns < 0 || w.timing_ns < 0)
    return Refuse("run report", "a phase took negative time");
  if (w.signal < 0 || w.signal > 64 || w.checked > 1)
    return Refuse("run report", FormatText("signal %d, checked %u", w.signal, w.checked));
  return {};
}

}  // namespace

const char* RunStatusName(RunStatus status) {
  static constexpr const char* kNames[kNumRunStatuses] = {"OK",           "NOISY",       "CENSORED",    "WRONG_RESULT",
                                                          "KERNEL_ERROR", "CRASH",       "RUN_TIMEOUT", "OUT_OF_MEMORY",
                                                          "BAD_ARTIFACT", "RUNNER_ERROR"};
  return static_cast<uint32_t>(status) < kNumRunStatuses ? kNames[static_cast<uint32_t>(status)] : "UNKNOWN";
}

const char* RunPhaseName(RunPhase phase) {
  static constexpr const char* kNames[kNumRunPhases] = {"loading", "making inputs", "checking", "timing", "done"};
  return static_cast<uint32_t>(phase) < kNumRunPhases ? kNames[static_cast<uint32_t>(phase)] : "unknown";
}

RuntimeResult<RecordType> DecodeRecordType(std::span<const std::byte> record) {
  WireHeader header;
  if (record.size() < sizeof(header))
    return Refuse("record", FormatText("%zu bytes, a header has %zu", record.size(), sizeof(header)));
  std::memcpy(&header, record.data(), sizeof(header));
  if (header.magic != kMagic) return Refuse("record", FormatText("magic 0x%08x", header.magic));
  if (header.version != kRunnerProtocolVersion) {
    return RuntimeError{
        RuntimeCode::kFailedPrecondition,
        FormatText("decode record: runner protocol version %u, this program speaks %u; use programs of one release",
                   header.version, kRunnerProtocolVersion)};
  }
  if (header.size != record.size())
    return Refuse("record", FormatText("%zu bytes, the header says %u", record.size(), header.size));
  if (header.type < 1 || header.type > 4) return Refuse("record", FormatText("type %u", header.type));
  return static_cast<RecordType>(header.type);
}

void SetRecordKey(std::span<std::byte> record, uint32_t key) {
  std::memcpy(record.data() + offsetof(WireHeader, key), &key, sizeof(key));
}

uint32_t RecordKey(std::span<const std::byte> record) {
  uint32_t key = 0;
  std::memcpy(&key, record.data() + offsetof(WireHeader, key), sizeof(key));
  return key;
}

std::vector<std::byte> EncodeReady(const RunnerReady& ready) {
  WireReady wire{.header = {}, .inner_pid = ready.inner_pid, .sandbox = ready.sandbox};
  return ToBytes(wire);
}

RuntimeResult<RunnerReady> DecodeReady(std::span<const std::byte> record) {
  RUNTIME_ASSIGN_OR_RETURN(const WireReady wire, FromBytes<WireReady>("ready", record));
  if (wire.inner_pid <= 0 || (wire.sandbox & ~kAllSandboxSteps) != 0)
    return Refuse("ready", FormatText("process %d, sandbox 0x%x", wire.inner_pid, wire.sandbox));
  return RunnerReady{wire.inner_pid, wire.sandbox};
}

RuntimeResult<std::vector<std::byte>> EncodeSpec(const RunSpec& spec) {
  WireSpec wire{};
  wire.input_seed = spec.input_seed;
  wire.memory_limit_bytes = spec.memory_limit_bytes;
  wire.wall_limit_ns = spec.wall_limit_ns;
  wire.incumbent_ns = spec.incumbent_ns;
  wire.policy = ToWire(spec.policy);
  wire.codegen_version = spec.codegen_version;
  wire.num_threads = spec.num_threads;
  RUNTIME_RETURN_IF_ERROR(PutList("tolerances", spec.tolerances, wire.tolerances, wire.num_tolerances));
  RUNTIME_RETURN_IF_ERROR(PutList("symbol values", spec.symbol_values, wire.symbols, wire.num_symbols));
  RUNTIME_RETURN_IF_ERROR(PutList("CPUs", spec.cpus, wire.cpus, wire.num_cpus));
  std::vector<WireRange> ranges;
  for (const auto& [param, range] : spec.input_ranges) ranges.push_back({range.low, range.high, param, 0});
  RUNTIME_RETURN_IF_ERROR(PutList("input ranges", ranges, wire.ranges, wire.num_ranges));
  RUNTIME_RETURN_IF_ERROR(PutString("kernel name", spec.kernel_name, wire.kernel_name));
  RUNTIME_RETURN_IF_ERROR(PutString("artifact path", spec.artifact_path, wire.artifact_path));
  RUNTIME_RETURN_IF_ERROR(PutString("reference path", spec.reference_path, wire.reference_path));
  std::vector<std::byte> bytes = ToBytes(wire);
  RUNTIME_RETURN_IF_ERROR(
      DecodeSpec(bytes).error());  // What a runner would refuse is refused here, before it costs a trial.
  return bytes;
}

RuntimeResult<RunSpec> DecodeSpec(std::span<const std::byte> record) {
  RUNTIME_ASSIGN_OR_RETURN(const WireSpec wire, FromBytes<WireSpec>("run spec", record));
  if (wire.num_tolerances > kMaxTolerances || wire.num_symbols > kMaxSymbolValues || wire.num_cpus > kMaxRunCpus ||
      wire.num_ranges > kMaxInputRanges) {
    return Refuse("run spec",
                  FormatText("%u tolerances, %u symbols, %u CPUs, %u input ranges, at most %zu each allowed",
                             wire.num_tolerances, wire.num_symbols, wire.num_cpus, wire.num_ranges, kMaxTolerances));
  }
  RunSpec spec;
  RUNTIME_ASSIGN_OR_RETURN(spec.policy, FromWire(wire.policy));
  spec.tolerances.assign(wire.tolerances, wire.tolerances + wire.num_tolerances);
  spec.symbol_values.assign(wire.symbols, wire.symbols + wire.num_symbols);
  spec.cpus.assign(wire.cpus, wire.cpus + wire.num_cpus);
  for (const WireRange& range : std::span(wire.ranges).first(wire.num_ranges)) {
    if (range.low > range.high)
      return Refuse("run spec", FormatText("input range of parameter %u from %lld to %lld", range.param,
                                           (long long)range.low, (long long)range.high));
    spec.input_ranges.push_back({range.param, {range.low, range.high}});
  }
  for (const double tolerance : spec.tolerances) {
    if (!IsAmount(tolerance)) return Refuse("run spec", FormatText("tolerance %g", tolerance));
  }
  if (!IsAmount(wire.incumbent_ns)) return Refuse("run spec", FormatText("incumbent %g ns", wire.incumbent_ns));
  if (wire.num_threads < 1 || wire.num_threads > 1024)
    return Refuse("run spec", FormatText("%u threads, 1 to 1024 required", wire.num_threads));
  if (wire.wall_limit_ns <= 0 || wire.memory_limit_bytes == 0) {
    return Refuse("run spec", FormatText("wall limit %lld ns, memory limit %llu bytes; both must be positive",
                                         (long long)wire.wall_limit_ns, (unsigned long long)wire.memory_limit_bytes));
  }
  spec.input_seed = wire.input_seed;
  spec.memory_limit_bytes = wire.memory_limit_bytes;
  spec.wall_limit_ns = wire.wall_limit_ns;
  spec.incumbent_ns = wire.incumbent_ns;
  spec.codegen_version = wire.codegen_version;
  spec.num_threads = wire.num_threads;
  spec.kernel_name = GetString(wire.kernel_name);
  spec.artifact_path = GetString(wire.artifact_path);
  spec.reference_path = GetString(wire.reference_path);
  return spec;
}

std::vector<std::byte> EncodeProgress(const RunProgress& progress) {
  WireProgress wire{.phase = static_cast<uint32_t>(progress.phase), .calls = progress.calls};
  return ToBytes(wire);
}

RuntimeResult<RunProgress> DecodeProgress(std::span<const std::byte> record) {
  RUNTIME_ASSIGN_OR_RETURN(const WireProgress wire, FromBytes<WireProgress>("progress", record));
  if (wire.phase >= kNumRunPhases) return Refuse("progress", FormatText("phase %u", wire.phase));
  return RunProgress{static_cast<RunPhase>(wire.phase), wire.calls};
}

std::vector<std::byte> EncodeReport(const RunReport& report) {
  WireReport wire{};
  wire.status = static_cast<uint32_t>(report.status);
  wire.signal = report.signal;
  wire.kernel_error = report.kernel_error;
  wire.checked = report.checked ? 1 : 0;
  wire.max_error = report.max_error;
  wire.lower_bound_ns = report.measured.lower_bound_ns;
  wire.calls_per_sample = report.measured.calls_per_sample;
  wire.total_calls = report.measured.total_calls;
  wire.redone = report.measured.redone;
  wire.disturbed = report.measured.disturbed;
  wire.num_samples = static_cast<uint32_t>(std::min<size_t>(report.measured.samples_ns.size(), kMaxSamples));
  std::copy_n(report.measured.samples_ns.begin(), wire.num_samples, wire.samples_ns);
  wire.load_ns = report.load_ns;
  wire.inputs_ns = report.inputs_ns;
  wire.check_ns = report.check_ns;
  wire.timing_ns = report.timing_ns;
  std::memcpy(wire.message, report.message.data(), std::min(report.message.size(), kMaxReportMessageBytes));
  return ToBytes(wire);
}

RuntimeResult<RunReport> DecodeReport(std::span<const std::byte> record) {
  RUNTIME_ASSIGN_OR_RETURN(const WireReport wire, FromBytes<WireReport>("run report", record));
  RUNTIME_RETURN_IF_ERROR(CheckReport(wire));
  RunReport report;
  report.status = static_cast<RunStatus>(wire.status);
  report.signal = wire.signal;
  report.kernel_error = wire.kernel_error;
  report.checked = wire.checked != 0;
  report.max_error = wire.max_error;
  report.message = GetPrintable(wire.message);
  report.load_ns = wire.load_ns;
  report.inputs_ns = wire.inputs_ns;
  report.check_ns = wire.check_ns;
  report.timing_ns = wire.timing_ns;
  MeasureResult& measured = report.measured;
  if (IsTimed(wire.status)) measured.status = static_cast<MeasureStatus>(wire.status);
  measured.samples_ns.assign(wire.samples_ns, wire.samples_ns + wire.num_samples);
  measured.statistics = Summarize(measured.samples_ns);
  measured.lower_bound_ns = wire.lower_bound_ns;
  measured.calls_per_sample = wire.calls_per_sample;
  measured.total_calls = wire.total_calls;
  measured.redone = wire.redone;
  measured.disturbed = wire.disturbed;
  return report;
}

}  // namespace lathe
