// What one TVMScript file holds.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe {

// Functions in the order of the text. Names are unique.
struct IRModule {
  std::vector<PrimFunc> prim_funcs;
  AttrMap attrs;         // I.module_attrs
  AttrMap global_infos;  // I.module_global_infos: lists by name.
  const PrimFunc* Find(std::string_view name) const {
    for (const PrimFunc& func : prim_funcs) {
      if (func.name == name) return &func;
    }
    return nullptr;
  }
};

}  // namespace lathe
