#include "runtime/extent.h"

#include <algorithm>

namespace lathe {
namespace {

constexpr uint32_t kMaxProgramTerms = 256, kMaxStack = 64;
constexpr int64_t kMaxExtent = int64_t{1} << 47;

bool IsPush(uint32_t op) { return op <= LATHE_TERM_SCALAR; }

RuntimeError CheckTerm(const SectionReader& reader, const LatheMetaTerm& term, const ExtentScope& scope) {
  if (term.op > LATHE_TERM_MAX)
    return reader.Corrupt(FormatText("term operation %u, at most %d known", term.op, LATHE_TERM_MAX));
  const bool names_symbol = term.op == LATHE_TERM_SYMBOL;
  if (!names_symbol && term.op != LATHE_TERM_SCALAR) return {};
  const uint32_t count = names_symbol ? scope.num_symbols : scope.num_scalars;
  if (term.value >= 0 && term.value < count) return {};
  return reader.Corrupt(
      FormatText("a term names %s %lld of %u", names_symbol ? "symbol" : "scalar", (long long)term.value, count));
}

RuntimeResult<Extent> DecodeProgram(const SectionReader& reader, const LatheMetaDim& raw, const ExtentScope& scope) {
  const bool inside = raw.value >= 0 && raw.value <= scope.num_terms && raw.length <= scope.num_terms - raw.value;
  if (!inside || raw.length == 0 || raw.length > kMaxProgramTerms) {
    return reader.Corrupt(
        FormatText("a program of %u terms at %lld of %u", raw.length, (long long)raw.value, scope.num_terms));
  }
  Extent extent{LATHE_DIM_PROGRAM, 0, {}};
  uint32_t depth = 0;
  for (uint32_t i = 0; i < raw.length; ++i) {
    const auto term = reader.At<LatheMetaTerm>(scope.terms_offset, static_cast<uint32_t>(raw.value) + i);
    RUNTIME_RETURN_IF_ERROR(CheckTerm(reader, term, scope));
    if (!IsPush(term.op) && depth < 2) return reader.Corrupt("a program takes more numbers than it has");
    depth = IsPush(term.op) ? depth + 1 : depth - 1;
    if (depth > kMaxStack) return reader.Corrupt(FormatText("a program needs more than %u numbers at once", kMaxStack));
    extent.program.push_back(term);
  }
  if (depth != 1) return reader.Corrupt(FormatText("a program leaves %u numbers, 1 required", depth));
  return extent;
}

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// False on overflow and division by zero.
bool Apply(uint32_t op, int64_t a, int64_t b, int64_t& result) {
  switch (op) {
    case LATHE_TERM_ADD:
      return !__builtin_add_overflow(a, b, &result);
    case LATHE_TERM_SUB:
      return !__builtin_sub_overflow(a, b, &result);
    case LATHE_TERM_MUL:
      return !__builtin_mul_overflow(a, b, &result);
    case LATHE_TERM_MIN:
      result = std::min(a, b);
      return true;
    case LATHE_TERM_MAX:
      result = std::max(a, b);
      return true;
    default:
      if (b == 0 || (a == INT64_MIN && b == -1)) return false;
      result = op == LATHE_TERM_FLOORDIV ? FloorDiv(a, b) : a - FloorDiv(a, b) * b;
      return true;
  }
}

RuntimeResult<int64_t> Pick(std::span<const int64_t> values, int64_t index, const char* what) {
  if (static_cast<uint64_t>(index) < values.size()) return values[static_cast<size_t>(index)];
  return RuntimeError{RuntimeCode::kInvalidArgument, FormatText("evaluate extent: %s %lld is not given, there are %zu",
                                                                what, (long long)index, values.size())};
}

RuntimeResult<int64_t> RunProgram(const std::vector<LatheMetaTerm>& program, std::span<const int64_t> symbols,
                                  std::span<const int64_t> scalars) {
  int64_t stack[kMaxStack];
  size_t depth = 0;
  for (const LatheMetaTerm& term : program) {
    if (term.op == LATHE_TERM_CONSTANT) {
      stack[depth++] = term.value;
    } else if (IsPush(term.op)) {
      const bool is_symbol = term.op == LATHE_TERM_SYMBOL;
      RUNTIME_ASSIGN_OR_RETURN(stack[depth],
                               Pick(is_symbol ? symbols : scalars, term.value, is_symbol ? "symbol" : "scalar"));
      ++depth;
    } else {
      --depth;
      if (!Apply(term.op, stack[depth - 1], stack[depth], stack[depth - 1])) {
        return RuntimeError{RuntimeCode::kInvalidArgument,
                            "evaluate extent: it overflows or divides by zero; give other extents"};
      }
    }
  }
  return stack[0];
}

std::string TermText(const LatheMetaTerm& term, std::span<const std::string> names) {
  if (term.op == LATHE_TERM_CONSTANT) return std::to_string(term.value);
  if (term.op == LATHE_TERM_SCALAR) return "scalar" + std::to_string(term.value);
  const size_t index = static_cast<size_t>(term.value);
  return index < names.size() ? names[index] : "s" + std::to_string(term.value);
}

}  // namespace

bool Extent::operator==(const Extent& other) const {
  const auto same = [](const LatheMetaTerm& a, const LatheMetaTerm& b) { return a.op == b.op && a.value == b.value; };
  return kind == other.kind && value == other.value &&
         std::equal(program.begin(), program.end(), other.program.begin(), other.program.end(), same);
}

std::string Extent::ToString(std::span<const std::string> names) const {
  if (kind == LATHE_DIM_CONSTANT) return TermText({value, LATHE_TERM_CONSTANT, 0}, names);
  if (kind == LATHE_DIM_SYMBOL) return TermText({value, LATHE_TERM_SYMBOL, 0}, names);
  static constexpr const char* kSigns[] = {" + ", " - ", " * ", " // ", " % "};
  std::vector<std::string> stack;
  for (const LatheMetaTerm& term : program) {
    if (IsPush(term.op)) {
      stack.push_back(TermText(term, names));
      continue;
    }
    const std::string b = std::move(stack.back());
    stack.pop_back();
    std::string& a = stack.back();
    if (term.op >= LATHE_TERM_MIN)
      a = (term.op == LATHE_TERM_MIN ? "min(" : "max(") + a + ", " + b + ")";
    else
      a = "(" + a + kSigns[term.op - LATHE_TERM_ADD] + b + ")";
  }
  return stack.empty() ? "" : stack.back();
}

RuntimeResult<Extent> DecodeExtent(const SectionReader& reader, const LatheMetaDim& raw, const ExtentScope& scope,
                                   int64_t least) {
  if (raw.kind == LATHE_DIM_CONSTANT) {
    if (raw.value < least || raw.value > kMaxExtent)
      return reader.Corrupt(FormatText("extent %lld", (long long)raw.value));
    return Extent{LATHE_DIM_CONSTANT, raw.value, {}};
  }
  if (raw.kind == LATHE_DIM_PROGRAM && scope.allows_programs) return DecodeProgram(reader, raw, scope);
  if (raw.kind != LATHE_DIM_SYMBOL) {
    return reader.Corrupt(FormatText("dimension kind %u, at most %d known", raw.kind, scope.allows_programs ? 2 : 1));
  }
  if (raw.value < 0 || raw.value >= scope.num_symbols)
    return reader.Corrupt(
        FormatText("symbol %lld of a kernel with %u symbols", (long long)raw.value, scope.num_symbols));
  return Extent{LATHE_DIM_SYMBOL, raw.value, {}};
}

RuntimeResult<int64_t> EvaluateExtent(const Extent& extent, std::span<const int64_t> symbols,
                                      std::span<const int64_t> scalars) {
  if (extent.kind == LATHE_DIM_CONSTANT) return extent.value;
  if (extent.kind == LATHE_DIM_SYMBOL) return Pick(symbols, extent.value, "symbol");
  return RunProgram(extent.program, symbols, scalars);
}

}  // namespace lathe
