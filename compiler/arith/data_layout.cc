#include "compiler/arith/data_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "compiler/arith/analyzer.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

char Capital(char letter) { return static_cast<char>(std::toupper(static_cast<unsigned char>(letter))); }
bool IsCapital(char letter) { return letter >= 'A' && letter <= 'Z'; }
bool IsSmall(char letter) { return letter >= 'a' && letter <= 'z'; }

constexpr int64_t kMaxFactor = int64_t{1} << 31;

Status CheckAxes(const std::string& name, const std::vector<DataLayout::Axis>& axes) {
  const auto count = [&](char letter) {
    return std::count_if(axes.begin(), axes.end(), [&](const auto& axis) { return axis.letter == letter; });
  };
  for (const DataLayout::Axis& axis : axes) {
    if (count(axis.letter) > 1)
      return InvalidArgument(fmt::format("layout \"{}\": '{}' appears twice", name, axis.letter));
    if (!axis.is_whole() && count(Capital(axis.letter)) == 0)
      return InvalidArgument(fmt::format("layout \"{}\": '{}' is a part of '{}', which it does not have", name,
                                         axis.letter, Capital(axis.letter)));
  }
  return OkStatus();
}

// What one step of the axis counts in elements of its dimension: the product of the factors of parts after it.
int64_t StepOf(const DataLayout& layout, size_t axis) {
  int64_t step = 1;
  for (size_t i = 0; i < layout.axes().size(); ++i) {
    const DataLayout::Axis& other = layout.axes()[i];
    const bool is_inside = !other.is_whole() && Capital(other.letter) == Capital(layout.axes()[axis].letter);
    if (is_inside && (layout.axes()[axis].is_whole() || i > axis)) step *= *other.factor;
  }
  return step;
}

// The position in dimension `letter`.
Expr WholeOf(const DataLayout& layout, char letter, const std::vector<Expr>& index) {
  std::optional<Expr> whole;
  for (size_t i = 0; i < index.size(); ++i) {
    if (Capital(layout.axes()[i].letter) != letter) continue;
    const Expr part = index[i] * IntConst(index[i].dtype(), StepOf(layout, i));
    whole = whole ? *whole + part : part;
  }
  return *whole;
}

std::string Letters(const DataLayout& layout) {
  std::string letters;
  for (const DataLayout::Axis& axis : layout.axes())
    if (axis.is_whole()) letters += axis.letter;
  std::sort(letters.begin(), letters.end());
  return letters;
}

}  // namespace

StatusOr<DataLayout> DataLayout::Parse(const std::string& name) {
  DataLayout layout;
  layout.name_ = name;
  if (name == "__undef__") return layout;
  int64_t factor = 0;
  for (const char c : name) {
    if (c >= '0' && c <= '9') {
      factor = factor * 10 + (c - '0');
      if (factor > kMaxFactor) return InvalidArgument("layout \"" + name + "\": a factor is too great");
    } else if (IsCapital(c) && factor == 0) {
      layout.axes_.push_back({c, std::nullopt});
    } else if (IsSmall(c) && factor > 0) {
      layout.axes_.push_back({c, std::exchange(factor, 0)});
    } else {
      return InvalidArgument(
          fmt::format("layout \"{}\": expected capital letters, and small ones after a factor, got '{}'", name, c));
    }
  }
  if (factor != 0) return InvalidArgument("layout \"" + name + "\": it ends with a factor; name the part");
  RETURN_IF_ERROR(CheckAxes(name, layout.axes_));
  return layout;
}

int64_t DataLayout::IndexOf(char letter) const {
  const auto found = std::find_if(axes_.begin(), axes_.end(), [&](const Axis& axis) { return axis.letter == letter; });
  return found == axes_.end() ? -1 : found - axes_.begin();
}

int64_t DataLayout::FactorOf(char letter) const {
  int64_t factor = 1;
  bool is_split = false;
  for (const Axis& axis : axes_) {
    if (axis.is_whole() || Capital(axis.letter) != Capital(letter)) continue;
    factor *= *axis.factor;
    is_split = true;
  }
  return is_split ? factor : -1;
}

std::optional<LayoutMap> LayoutMap::Make(DataLayout from, DataLayout to) {
  if (from.axes().empty() || Letters(from) != Letters(to)) return std::nullopt;
  return LayoutMap(std::move(from), std::move(to));
}

Status LayoutMap::CheckCount(const std::vector<Expr>& values) const {
  if (values.size() == from_.axes().size()) return OkStatus();
  return InvalidArgument(fmt::format("layout \"{}\" to \"{}\": expected {} values, got {}", from_.name(), to_.name(),
                                     from_.axes().size(), values.size()));
}

StatusOr<std::vector<Expr>> LayoutMap::Index(const std::vector<Expr>& index) const {
  RETURN_IF_ERROR(CheckCount(index));
  const Analyzer analyzer;
  std::vector<Expr> result;
  for (size_t i = 0; i < to_.axes().size(); ++i) {
    const DataLayout::Axis& axis = to_.axes()[i];
    const Expr whole = WholeOf(from_, Capital(axis.letter), index);
    const Expr above = FloorDiv(whole, IntConst(whole.dtype(), StepOf(to_, i)));
    result.push_back(
        analyzer.Simplify(axis.is_whole() ? above : FloorMod(above, IntConst(whole.dtype(), *axis.factor))));
  }
  return result;
}

StatusOr<std::vector<Expr>> LayoutMap::Shape(const std::vector<Expr>& shape) const {
  RETURN_IF_ERROR(CheckCount(shape));
  std::vector<Expr> wholes = shape;  // Parts are as long as their factors say.
  for (size_t i = 0; i < wholes.size(); ++i)
    if (!from_.axes()[i].is_whole()) wholes[i] = IntConst(shape[i].dtype(), 0);
  const Analyzer analyzer;
  std::vector<Expr> result;
  for (size_t i = 0; i < to_.axes().size(); ++i) {
    const DataLayout::Axis& axis = to_.axes()[i];
    const Expr whole = WholeOf(from_, Capital(axis.letter), wholes);
    const Expr step = IntConst(whole.dtype(), StepOf(to_, i));
    result.push_back(axis.is_whole() ? analyzer.Simplify(FloorDiv(whole + step - IntConst(whole.dtype(), 1), step))
                                     : IntConst(whole.dtype(), *axis.factor));
  }
  return result;
}

}  // namespace lathe
