// Reads TVMScript (docs/formats/tvmscript.md), the text form of TensorIR.
//
// Errors are InvalidArgument "file.py:12:17: expected ..., got ..."; the status' detail shows the line. No text,
// however hostile, ends the process: nesting is limited to 1,000.
#pragma once

#include <string_view>

#include "compiler/ir/module.h"
#include "support/status.h"

namespace lathe {

// The functions of the file, in or outside of an @I.ir_module class, completed (script/complete.h): blocks have reads,
// writes and a root block. `file_name` appears in errors only.
StatusOr<IRModule> ParseModule(std::string_view text, std::string_view file_name);
// The only function of the file.
StatusOr<PrimFunc> ParsePrimFunc(std::string_view text, std::string_view file_name);

}  // namespace lathe
