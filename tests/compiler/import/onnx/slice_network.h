// Networks of concatenations and splits along the channels, and of what may stand around them.
#pragma once

#include <onnx/onnx_pb.h>

#include "support/random.h"

namespace lathe {

// Input "x" (1, 4, ...), at least one output. Concatenations of results, inputs, constants, parts and each other, some
// of a tensor twice; a part of what they make are outputs, or seen through reshapes.
onnx::ModelProto RandomSliceNetwork(Random& random);

}  // namespace lathe
