// The bytes of a saved cost model (docs/formats/cost_model.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"

namespace lathe {

struct ModelFile {
  double draft_weight = 1;            // Finite, not negative.
  std::vector<std::string> boosters;  // XGBoost's UBJ, one each.
};

std::string EncodeModelFile(const ModelFile& file);
// DataLoss where bytes are missing or changed, InvalidArgument for another version. Pure; never crashes.
StatusOr<ModelFile> DecodeModelFile(std::string_view bytes);

}  // namespace lathe
