#include "compiler/import/onnx/operators.h"

#include <map>

namespace lathe {

const OnnxOperator* FindOnnxOperator(std::string_view name) {
  static const auto* table = [] {
    auto* rows = new std::map<std::string_view, const OnnxOperator*>;
    for (const auto& operators : {OnnxActivations(), OnnxArithmetic(), OnnxConvolutions(), OnnxMatrixOperators(),
                                  OnnxMovements(), OnnxNormalizations(), OnnxShapeOperators()}) {
      for (const OnnxOperator& row : operators)
        CHECK(rows->emplace(row.name, &row).second) << row.name << " stands twice";
    }
    return rows;
  }();
  const auto found = table->find(name);
  return found == table->end() ? nullptr : found->second;
}

}  // namespace lathe
