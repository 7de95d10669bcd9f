// What the verbs that take a MODEL.onnx share.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/relax/module.h"
#include "compiler/target/target.h"
#include "support/status.h"
#include "tuner/build/compile_network.h"

namespace CLI {
class App;
}

namespace lathe {

class ScheduleApi;

// How a network is read, as flags say it.
struct NetworkFlags {
  std::vector<std::string> input_shapes;  // "NAME=1,3,224,224".
  bool winograd = false;                  // 3 x 3 convolutions may be computed by Winograd's algorithm.
};
// --target, --input-shape and --winograd.
void AddNetworkFlags(CLI::App& verb, std::string& target, NetworkFlags& network);
// Those without --target.
void AddNetworkShapeFlags(CLI::App& verb, NetworkFlags& network);

// By its name, else by how it begins.
bool IsOnnxFile(const std::string& path);
// "data=1,3,224,224" each.
StatusOr<std::map<std::string, std::vector<int64_t>>> ParseInputShapes(const std::vector<std::string>& texts);
// Imported and taken through the graph passes.
StatusOr<relax::IRModule> LoadNetwork(const std::string& path, const NetworkFlags& flags, const Target& target,
                                      int opt_level);

// Answers from the best records that `schedules` knows for exactly this target. Borrows `schedules`.
ScheduleLookup LookupIn(ScheduleApi& schedules, const Target& target);
// Knows nothing, because of `why`: the untuned network.
ScheduleLookup KnowsNothing(std::string why);

// How long a builder may take for a network.
inline constexpr Duration kNetworkBuildTimeout = std::chrono::minutes(10);

// Compiles with a builder of its own.
StatusOr<CompiledNetwork> BuildNetwork(const relax::IRModule& module, const Target& target,
                                       const ScheduleLookup& lookup, const std::string& output_path);

// Median times in ms of one inference of each artifact, on seeded random inputs, run in turns on the given CPUs.
StatusOr<std::vector<double>> TimeNetworks(const std::vector<std::string>& paths, const std::vector<int>& cpus,
                                           int repeats);

}  // namespace lathe
