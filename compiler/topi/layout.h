// Tensors in other layouts.
#pragma once

#include <string>

#include "compiler/topi/operand.h"

namespace lathe::topi {

// x, whose dimensions `from` names ("NCHW"), as `to` has them ("NCHW4c"); 0 where a part is not full.
StatusOr<Tensor> LayoutTransform(const Tensor& x, const std::string& from, const std::string& to,
                                 const std::string& schedule_rule);

}  // namespace lathe::topi
