// Compiles statements, blocks and whole functions. Private to this folder.
#pragma once

#include <deque>
#include <optional>

#include "compiler/interpreter/code.h"

namespace lathe {

// A buffer's shape, strides and offset, to be evaluated where the buffer begins to live.
struct BufferCode {
  int slot;
  std::string name;
  int lanes;
  std::vector<ExprCodePtr> shape, strides;  // Strides empty: compact.
  ExprCodePtr offset;
  const Site* site;
  SharedBy shared_by;  // Inside of a kernel.

  // Fills the view of machine.views[slot] except for its storage; gives the number of elements it reaches. -1 after a
  // fault.
  int64_t Shape(Machine& machine) const;
};

// A variable that takes its value from an argument or a matched region, at its first appearance.
struct BindingCode {
  int slot = -1;  // >= 0: bind; else compare with `expected`.
  ExprCodePtr expected;
};

struct ParamCode {
  DataType dtype;
  std::string name;
  int scalar_slot = -1;                     // A scalar parameter.
  std::vector<BindingCode> shape, strides;  // Strides: only those that bind a variable have a slot.
  BindingCode offset;
  std::optional<BufferCode> buffer;
};

struct FuncCode {
  std::string name;
  std::vector<ParamCode> params;
  StmtCodePtr body;
  int num_registers = 0, num_views = 0;
  std::deque<Site> sites;  // Addresses are stable.
  const Site* top_site = nullptr;
  std::vector<const Site*> statements;  // Where each stands; what accesses and races are numbered by.
};

StatusOr<std::unique_ptr<FuncCode>> CompileFunc(const PrimFunc& func, FloatMode float_mode);

}  // namespace lathe
