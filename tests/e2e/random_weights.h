// Networks whose outputs show mistakes, made from networks whose outputs hide them.
#pragma once

#include <onnx/onnx_pb.h>

#include "support/random.h"

namespace lathe {

// The onnx project's light graphs have constant weights (ConstantOfShape of 0.02), which hide nearly every mistake.
// This puts seeded ones in their place, scaled so that activations neither grow nor die, and ends the graph before its
// softmax.
onnx::ModelProto WithRandomWeights(onnx::ModelProto model, Random random);

}  // namespace lathe
