// What a file asks to be tuned: the functions of TVMScript, or the tasks of an ONNX network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/network.h"
#include "compiler/relax/module.h"
#include "compiler/target/target.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe {

struct TuneFile {
  std::string path;
  NetworkFlags network;
  std::string tasks = "*";  // Only functions whose name fits this pattern.
};

struct Function {
  PrimFunc func;
  Digest workload;
  int64_t weight = 1;  // Calls per inference.
};

// Distinct functions, and the network that they make up, if it is one.
struct Workloads {
  std::vector<Function> functions;
  std::optional<relax::IRModule> network;
};

// The functions of a FUNC.py, also those that compute the same.
StatusOr<IRModule> ReadFunctions(const std::string& path);

StatusOr<Workloads> ReadWorkloads(const TuneFile& file, const Target& target);

}  // namespace lathe
