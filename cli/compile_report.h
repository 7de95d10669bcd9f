// What `lathe compile` says of a network that it built or refused to build, and whether it has to be built again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "support/digest.h"
#include "support/status.h"
#include "tuner/build/compile_network.h"

namespace lathe {

// The document of `lathe compile --json`. `inputs`: of all that decided the artifact's bytes.
nlohmann::ordered_json ReportOf(const CompiledNetwork& network, const Digest& inputs);
// The same as a table, on stdout.
void PrintKernels(const std::vector<NetworkKernel>& kernels);
// Why kernels have no schedule, and the whole in one line, on stderr; `next`: what a user may do with it.
void PrintSummary(const CompiledNetwork& network, const std::string& next);

// The artifact at `output` if `report`, the text of a document of an earlier build, says that it was built from
// `inputs` and the file still is what was built; nullopt: build it. A build that could not use a known schedule is
// tried again.
std::optional<BuildArtifact> AlreadyBuilt(const std::string& report, const Digest& inputs, const std::string& output);

// Of a network that may not be built with default schedules: kNotFound with each kernel that has no other, and
// `command`, which makes them.
Status MissError(const std::string& model, const std::string& target, const std::vector<NetworkKernel>& kernels,
                 const std::string& command);

}  // namespace lathe
