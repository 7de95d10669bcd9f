// The Builder whose work is done by a lathe-builder child.
#pragma once

#include <string>

#include "tuner/worker/builder.h"

namespace lathe {

struct ProcessBuilderOptions {
  std::string program;            // Path of lathe-builder.
  std::string scratch_directory;  // Where modules are written before they are read back; created if needed.
  uint64_t memory_limit_bytes = uint64_t{4} << 30;
};

BuilderFactory MakeProcessBuilders(ProcessBuilderOptions options);

}  // namespace lathe
