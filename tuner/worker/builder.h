// The role that makes an artifact from a candidate, in a process of its own: compilers die of some inputs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "support/clock.h"
#include "support/status.h"

namespace lathe {

struct BuildRequest {
  std::string workload_text;  // TVMScript of one PrimFunc.
  std::string trace_json;     // Replayed on it; "[[],[]]" leaves it as it is.
  std::string target;         // Canonical text.
  Duration time_limit = std::chrono::seconds(30);
  uint32_t kernel_abi = 1;     // To emit: what every device that may get the module runs.
  bool refuses_spills = true;  // A register tile that does not end in registers is an error, not a warning.
};

struct BuiltModule {
  std::string bytes;
  std::vector<std::string> warnings;
  Duration replay{}, lower{}, compile{}, link{};
};

struct BuildFailed {
  enum class Kind {
    kCandidate,  // Refused by the compiler, or the compiler died of it.
    kTimeout,
    kBroken,  // The builder could not be started or spoken to; says nothing about the candidate.
  };
  Kind kind = Kind::kCandidate;
  std::string message;
  StatusCode code = StatusCode::kUnavailable;  // Of kBroken; kResourceExhausted: the disk is full.
};

using BuildOutcome = std::variant<BuiltModule, BuildFailed>;

class Builder {
 public:
  virtual ~Builder() = default;
  // Waits for the outcome. One thread at a time, always the same one.
  virtual BuildOutcome Build(const BuildRequest& spec) = 0;
  // The build under way ends soon, as kBroken; without one, the next build does. From any thread.
  virtual void Cancel() = 0;
  // While paused the builder uses no CPU; a build under way goes on afterwards. From any thread.
  virtual void SetPaused(bool is_paused) = 0;
};

// Called on the thread that will call Build: a builder's process may be bound to the life of that thread.
using BuilderFactory = std::function<StatusOr<std::unique_ptr<Builder>>()>;

}  // namespace lathe
