// A whole network into one artifact: every kernel by the best schedule that is known, the rest by the default one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/builder/builder_process.h"
#include "compiler/relax/module.h"
#include "compiler/target/target.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe {

// Where the schedule of a kernel is from: a record; a record of an older code generator, which is used, and said;
// nowhere; the user's own hand.
enum class ScheduleSource : uint8_t { kHit, kStale, kMiss, kGiven };
std::string_view ScheduleSourceName(ScheduleSource source);  // "HIT", "STALE", "MISS", "GIVEN".

// What is answered for a workload. The text is the one that the trace was made on (names may differ from the
// network's).
struct KnownSchedule {
  std::string workload_text, trace_json;
  ScheduleSource source = ScheduleSource::kHit;  // Not kMiss.
  double best_ns = 0;                            // Median of one call when it was measured; 0: it was not.
};
struct LookupAnswer {
  std::optional<KnownSchedule> schedule;
  std::string why;  // Where there is none: what there is instead, in words.
};
using ScheduleLookup = std::function<StatusOr<LookupAnswer>(const Digest& workload)>;

struct NetworkKernel {
  std::string name;
  Digest workload;
  int64_t calls = 0;  // Per inference.
  ScheduleSource source = ScheduleSource::kMiss;
  double best_ns = 0;  // Known time of one call; 0 where nothing was measured.
  std::string why;  // On a miss: what the database holds instead, or that the known schedule does not build any more.
  bool is_refused = false;  // The latter.
};
struct CompiledNetwork {
  BuildArtifact artifact;
  std::vector<NetworkKernel> kernels;  // In order of first call.
};

// What will be built, before anything is: a network, or kernels alone, without a graph.
struct NetworkPlan {
  std::vector<NetworkKernel> kernels;  // In order of first call.
  std::vector<KernelSource> sources;   // How each is built.
  std::string target;                  // Canonical.
  std::string graph, constants;        // Sections of the artifact; of kernels alone there are none.

  int NumMissed() const;
  // Of all that decides the bytes of the artifact, but for the builder.
  Digest ContentDigest() const;
};

// `module` is the result of relax::OptimizeForTuning; or it has no function but PrimFuncs, each of which becomes a
// kernel, in order. Kernels without a known schedule get the default one.
StatusOr<NetworkPlan> PlanNetwork(const relax::IRModule& module, const Target& target, const ScheduleLookup& lookup);

// What CompileNetwork writes beside its output for a moment is named like it, with one of these.
inline constexpr const char* kKernelPart = ".kernel.part";
inline constexpr const char* kGraphPart = ".graph.part";
inline constexpr const char* kConstantsPart = ".const.part";

// Builds the plan of this module. The build may take `timeout`. A recorded schedule that does not build (a newer code
// generator may refuse what an older one took) gives way to the default one, and its kernel says so; a given one that
// does not is an error. Writes `output_path` whole or not at all; temporary files stand beside it. Waits for the
// builder, so call it on a thread that outlives `builder`.
StatusOr<CompiledNetwork> CompileNetwork(const relax::IRModule& module, const Target& target, NetworkPlan plan,
                                         BuilderProcess& builder, const std::string& output_path, Duration timeout);

}  // namespace lathe
