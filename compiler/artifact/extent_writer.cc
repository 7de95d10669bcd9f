#include "compiler/artifact/extent_writer.h"

#include <fmt/format.h>

#include "support/status_macros.h"

namespace lathe {
namespace {

std::optional<LatheMetaTermOp> TermOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return LATHE_TERM_ADD;
    case BinaryOp::kSub:
      return LATHE_TERM_SUB;
    case BinaryOp::kMul:
      return LATHE_TERM_MUL;
    case BinaryOp::kFloorDiv:
      return LATHE_TERM_FLOORDIV;
    case BinaryOp::kFloorMod:
      return LATHE_TERM_FLOORMOD;
    case BinaryOp::kMin:
      return LATHE_TERM_MIN;
    case BinaryOp::kMax:
      return LATHE_TERM_MAX;
    default:
      return std::nullopt;
  }
}

// A cast between integers keeps every extent that there can be.
const Expr& WithoutCasts(const Expr& extent) {
  const Cast* cast = extent.As<Cast>();
  return cast != nullptr && extent.dtype().is_int() && cast->value.dtype().is_int() ? WithoutCasts(cast->value)
                                                                                    : extent;
}

}  // namespace

int64_t IndexOf(std::span<const Var> vars, const Expr& var) {
  const auto at = std::find_if(vars.begin(), vars.end(), [&](const Var& known) { return known.same_as(var); });
  return at == vars.end() ? -1 : at - vars.begin();
}

void ExtentWriter::Use(std::vector<Var> symbols, std::vector<Var> scalars) {
  symbols_ = std::move(symbols);
  scalars_ = std::move(scalars);
}

Status ExtentWriter::Append(const Expr& whole) {
  const Expr& extent = WithoutCasts(whole);
  if (const int64_t* value = AsIntConst(extent)) {
    terms_.push_back({*value, LATHE_TERM_CONSTANT, 0});
    return OkStatus();
  }
  if (IsVar(extent)) {
    const int64_t symbol = IndexOf(symbols_, extent), scalar = IndexOf(scalars_, extent);
    if (symbol < 0 && scalar < 0)
      return InvalidArgument(fmt::format("variable \"{}\" is neither an extent that an argument tells nor a parameter",
                                         Var(extent).name()));
    if (symbol < 0)
      terms_.push_back({scalar, LATHE_TERM_SCALAR, 0});
    else
      terms_.push_back({symbol, LATHE_TERM_SYMBOL, 0});
    return OkStatus();
  }
  const Binary* binary = extent.As<Binary>();
  const std::optional<LatheMetaTermOp> op = binary == nullptr ? std::nullopt : TermOf(binary->op);
  if (!op || !extent.dtype().is_int())
    return InvalidArgument("it is made of other operations than +, -, *, //, %, min and max of integers");
  RETURN_IF_ERROR(Append(binary->a));
  RETURN_IF_ERROR(Append(binary->b));
  terms_.push_back({0, static_cast<uint32_t>(*op), 0});
  return OkStatus();
}

StatusOr<LatheMetaDim> ExtentWriter::Write(const Expr& whole, std::string_view what) {
  const Expr& extent = WithoutCasts(whole);
  if (const int64_t* value = AsIntConst(extent)) return LatheMetaDim{*value, LATHE_DIM_CONSTANT, 0};
  if (const int64_t symbol = IndexOf(symbols_, extent); symbol >= 0) return LatheMetaDim{symbol, LATHE_DIM_SYMBOL, 0};
  const size_t begin = terms_.size();
  if (const Status status = Append(extent); !status.ok()) {
    terms_.resize(begin);
    return InvalidArgument(fmt::format("{}: {}", what, status.message()));
  }
  return LatheMetaDim{static_cast<int64_t>(begin), LATHE_DIM_PROGRAM, static_cast<uint32_t>(terms_.size() - begin)};
}

StatusOr<std::vector<LatheMetaDim>> ExtentWriter::Write(std::span<const Expr> extents, std::string_view what) {
  std::vector<LatheMetaDim> dims;
  for (const Expr& extent : extents) {
    ASSIGN_OR_RETURN(const LatheMetaDim dim, Write(extent, what));
    dims.push_back(dim);
  }
  return dims;
}

}  // namespace lathe
