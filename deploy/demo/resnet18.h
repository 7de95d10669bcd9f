// ResNet-18 as published (He et al. 2015, table 1; torchvision's layer order and names) as an ONNX model of opset 13
// with seeded weights. It is not trained, but alive: the BatchNormalization nodes carry statistics measured on seeded
// images, so that activations neither grow nor die and different images get different classes.
#pragma once

#include <cstdint>

#include "support/status.h"

namespace onnx {
class ModelProto;
}

namespace lathe::demo {

struct ResNet18Options {
  double width = 1;     // Factor on the published 64, 128, 256, 512 channels; (0, 4].
  int64_t image = 224;  // Side of the input image [1, 3, image, image]; 32 to 2048.
  uint64_t seed = 1;
};

// Input "image", output "logits" [1, 1000]. The same options give the same bytes on every machine. Takes about a
// second.
StatusOr<onnx::ModelProto> BuildResNet18(const ResNet18Options& options);

}  // namespace lathe::demo
