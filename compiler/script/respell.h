// What options of the printer change of a text that is printed already.
#pragma once

#include <string>

#include "compiler/script/printer.h"

namespace lathe {

// `text` with other names for T and I and another indentation; as TVM's, without the last end of line.
std::string Respell(std::string text, const PrintOptions& options);

}  // namespace lathe
