// What a supervisor and lathe-runner say to each other: fixed-size little-endian records, one per packet of a
// SOCK_SEQPACKET pair (docs/formats/runner_protocol.md).
//
//   runner: Ready -> supervisor: RunSpec -> runner: Progress ... Report, then it exits
// Pure: bytes in, values out. A report comes from a process that ran foreign code, so nothing in it is believed
// unchecked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runner/input_generator.h"
#include "runner/measure_policy.h"
#include "runtime/error.h"

namespace lathe {

inline constexpr uint16_t kRunnerProtocolVersion = 5;
inline constexpr int kRunnerSocketFd = 3;
inline constexpr int kRunnerGroupFd = 4;  // The door of its memory group, if it has one (runner/memory_group.h).
inline constexpr size_t kMaxTolerances = 64, kMaxSymbolValues = 64, kMaxRunCpus = 64, kMaxInputRanges = 64;
inline constexpr size_t kMaxPathBytes = 4095, kMaxKernelNameBytes = 1023, kMaxReportMessageBytes = 4095;
inline constexpr size_t kMaxRecordBytes = 16384;

// One trial.
struct RunSpec {
  std::string artifact_path;
  std::string kernel_name;         // Empty: the artifact's only kernel.
  std::string reference_path;      // Raw float64 outputs, one after the other in parameter order; empty: not checked.
  std::vector<double> tolerances;  // Absolute, one per written buffer, in parameter order.
  std::vector<ParamRange> input_ranges;  // Of integer parameters that are not drawn from their default range.
  std::vector<int64_t> symbol_values;    // Of the kernel's symbolic extents.
  std::vector<int32_t> cpus;             // Where to run; thread i runs on cpus[i % n]. Empty: not pinned.
  uint64_t input_seed = 0;
  uint32_t codegen_version = 0;  // Demanded of the artifact; 0: any.
  uint32_t num_threads = 1;
  double incumbent_ns = 0;                          // Best known time per call, 0: none.
  uint64_t memory_limit_bytes = uint64_t{2} << 30;  // Of the whole runner: buffers, reference, scratch, threads.
  int64_t wall_limit_ns =
      10'000'000'000;  // From RunSpec to Report; enforced by the supervisor. CPU time follows from it.
  MeasurePolicy policy;
};

// How a trial ended. Numbers cross process borders: never reuse one.
enum class RunStatus : uint32_t {
  kOk = 0,
  kNoisy = 1,        // Timed; the interval stayed wide.
  kCensored = 2,     // Given up as slower than abandon_factor times the incumbent.
  kWrongResult = 3,  // Output differs from the reference, or bytes outside a buffer were touched.
  kKernelError = 4,  // The kernel returned an error.
  kCrash = 5,        // SIGSEGV, SIGILL, SIGFPE, SIGBUS ...; `signal` says which.
  kRunTimeout = 6,
  kOutOfMemory = 7,
  kBadArtifact = 8,  // Cannot be loaded here, or does not have what the spec asks for.
  kRunnerError = 9,  // The runner broke its protocol, ended without a report, or could not do its own part.
};
inline constexpr uint32_t kNumRunStatuses = 10;
const char* RunStatusName(RunStatus status);  // "OK", "WRONG_RESULT", ...

enum class RunPhase : uint32_t { kLoading = 0, kInputs = 1, kChecking = 2, kTiming = 3, kDone = 4 };
inline constexpr uint32_t kNumRunPhases = 5;
const char* RunPhaseName(RunPhase phase);

struct RunnerReady {
  int32_t inner_pid = 0;  // The process with whose end by SIGKILL everything ends that the runner started.
  uint32_t sandbox = 0;   // SandboxSteps that the trial will run behind.
};
// Sent at the begin of each phase, and about once a second while timing.
struct RunProgress {
  RunPhase phase = RunPhase::kLoading;
  uint64_t calls = 0;
};

struct RunReport {
  RunStatus status = RunStatus::kRunnerError;
  int32_t signal = 0;        // kCrash: its number.
  int32_t kernel_error = 0;  // kKernelError: what the kernel returned.
  std::string message;       // Why, unless kOk.
  MeasureResult measured;    // kOk, kNoisy, kCensored; the statistics are computed by the reader.
  bool checked = false;      // Outputs were compared with a reference.
  double max_error = 0;      // Over all outputs, where checked.
  int64_t load_ns = 0, inputs_ns = 0, check_ns = 0, timing_ns = 0;  // What the phases took.
};

enum class RecordType : uint16_t { kReady = 1, kSpec = 2, kProgress = 3, kReport = 4 };

// The supervisor draws a key for each trial. What the runner sends from then on bears it, which keeps records apart
// that a kernel makes up; not those of one that searches the runner's memory for it.
void SetRecordKey(std::span<std::byte> record, uint32_t key);
uint32_t RecordKey(std::span<const std::byte> record);  // Of a record that DecodeRecordType took.

std::vector<std::byte> EncodeReady(const RunnerReady& ready);
RuntimeResult<std::vector<std::byte>> EncodeSpec(const RunSpec& spec);  // Fails where a string or list is too long.
std::vector<std::byte> EncodeProgress(const RunProgress& progress);
std::vector<std::byte> EncodeReport(const RunReport& report);  // Cuts the message to its field.

// Checks magic, version, type and size. The decoders below expect a record of their type.
RuntimeResult<RecordType> DecodeRecordType(std::span<const std::byte> record);
RuntimeResult<RunnerReady> DecodeReady(std::span<const std::byte> record);
RuntimeResult<RunSpec> DecodeSpec(std::span<const std::byte> record);
RuntimeResult<RunProgress> DecodeProgress(std::span<const std::byte> record);
// Every number finite and not negative, counts within bounds, a timed status with samples; text made printable.
RuntimeResult<RunReport> DecodeReport(std::span<const std::byte> record);

}  // namespace lathe
