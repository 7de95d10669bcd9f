// TVMScript that is part of a program: what the names around it mean.
#pragma once

#include <set>
#include <string_view>

#include "compiler/ir/module.h"
#include "compiler/script/name_table.h"
#include "support/status.h"

namespace lathe {

// The keys live as long as the call that takes them.
struct Surroundings {
  ConstantTable constants;               // Numbers, strings, expressions, buffers.
  std::set<std::string_view> tir_names;  // What else the TIR dialect is called, beside "T" and "tir".
  TirMemberNames tir_members;
  ScriptEvaluator* evaluator = nullptr;  // Whom to ask about what neither says; without one it is an error.
  bool may_be_undefined = false;         // Whether variables may be used that nothing gives a value.
};

// As the functions of compiler/script/parser.h.
StatusOr<IRModule> ParseModule(std::string_view text, std::string_view file_name, const Surroundings& around);
StatusOr<PrimFunc> ParsePrimFunc(std::string_view text, std::string_view file_name, const Surroundings& around);

}  // namespace lathe
