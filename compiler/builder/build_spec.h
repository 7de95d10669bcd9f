// What a worker asks of lathe-builder and what it answers, and both as bytes (docs/formats/builder_protocol.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "support/clock.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe {

inline constexpr uint32_t kBuilderProtocolVersion = 3;
inline constexpr uint32_t kMaxBuilderMessageBytes = 256u << 20;

// One text with PrimFuncs. With a trace it has exactly one, which the trace schedules; without, all are compiled as
// they stand.
struct KernelSource {
  std::string name;        // Renames the only function; empty: as the text says.
  std::string text;        // TVMScript.
  std::string trace_json;  // TVM's layout, or empty.
};
// A read-only section of the artifact, filled from a file: weights would be too large for a message.
struct SectionSource {
  std::string name, path;
};

struct BuildSpec {
  uint64_t id = 0;  // Comes back in the answer.
  std::vector<KernelSource> kernels;
  std::vector<SectionSource> sections;
  std::string target;           // Canonical or not.
  std::string output_path;      // Written beside and renamed, so it is whole or absent.
  uint32_t kernel_abi = 0;      // To emit (runtime/kernel_abi.h); 0: the newest.
  bool refuses_spills = false;  // A register tile that does not end in registers is an error, not a warning.
};

struct BuildTimes {
  Duration parse{}, schedule{}, lower{}, emit{}, optimize{}, generate{}, link{}, write{};
  Duration total() const { return parse + schedule + lower + emit + optimize + generate + link + write; }
};
struct BuildArtifact {
  std::string path;
  Digest digest;  // SHA-256 of the file.
  uint64_t size_bytes = 0;
  BuildTimes times;
  std::vector<std::string> warnings;
};

enum class BuildErrorKind : uint8_t {
  kBuildError = 1,     // The compiler refused; the message is its words.
  kBuildTimeout = 2,   // The deadline passed; the builder was killed.
  kBuilderDied = 3,    // By a signal or an exit of its own.
  kBuilderMemory = 4,  // It grew past its limit and was killed.
  kOutputError = 5,    // The output cannot be written: no fault of what was compiled.
};
std::string_view BuildErrorName(BuildErrorKind kind);  // "BUILD_ERROR" ...

struct BuildError {
  BuildErrorKind kind = BuildErrorKind::kBuildError;
  StatusCode code = StatusCode::kInvalidArgument;
  std::string message;
};
struct BuildResult {
  uint64_t id = 0;
  std::variant<BuildArtifact, BuildError> outcome;
};

// The builder's first message.
struct BuilderReady {
  uint32_t protocol_version = kBuilderProtocolVersion;
  uint32_t codegen_version = 0;
};

using BuilderMessage = std::variant<BuilderReady, BuildSpec, BuildResult>;

// A whole frame, length first.
std::string EncodeMessage(const BuilderMessage& message);
// Takes the first whole frame off `bytes`; nullopt if it is not all there. DataLoss for anything that is no frame.
StatusOr<std::optional<BuilderMessage>> TakeMessage(std::string& bytes);

}  // namespace lathe
