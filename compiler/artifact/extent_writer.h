// Extents, strides and offsets as an artifact says them: numbers, symbols, and programs over both.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/ir/expr.h"
#include "runtime/kernel_abi.h"
#include "support/status.h"

namespace lathe {

// Collects the programs of one section.
class ExtentWriter {
 public:
  // Symbols and scalars by number; an expression may use nothing else. Both replace those of the kernel before.
  void Use(std::vector<Var> symbols, std::vector<Var> scalars);
  // InvalidArgument, saying what it is of, for an expression with other variables or operations than +, -, *, //, %,
  // min, max over integers; casts between integers count as nothing.
  StatusOr<LatheMetaDim> Write(const Expr& extent, std::string_view what);
  StatusOr<std::vector<LatheMetaDim>> Write(std::span<const Expr> extents, std::string_view what);
  const std::vector<LatheMetaTerm>& terms() const { return terms_; }

 private:
  Status Append(const Expr& extent);
  std::vector<Var> symbols_, scalars_;
  std::vector<LatheMetaTerm> terms_;
};

// The number of a variable, or -1.
int64_t IndexOf(std::span<const Var> vars, const Expr& var);

}  // namespace lathe
