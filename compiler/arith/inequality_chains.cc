#include "compiler/arith/inequality_chains.h"

#include "compiler/arith/canonicalizer.h"

namespace lathe {
namespace {

OffsetPart PlaceOf(const Expr& e) {
  const int64_t* value = AsIntConst(e);
  return value != nullptr ? OffsetPart{IntConst(e.dtype(), 0), *value} : SplitOffset(e);
}

std::optional<int64_t> Sum(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}

}  // namespace

OffsetPart SplitOffset(const Expr& e) {
  const Binary* op = e.As<Binary>();
  if (op != nullptr && op->op == BinaryOp::kAdd) {
    if (const int64_t* offset = AsIntConst(op->b)) return {op->a, *offset};
  }
  if (op != nullptr && op->op == BinaryOp::kSub) {
    const int64_t* offset = AsIntConst(op->b);
    if (offset != nullptr && *offset != INT64_MIN) return {op->a, -*offset};
  }
  return {e, 0};
}

InequalityChains::InequalityChains(const std::vector<Expr>& known, const std::vector<Expr>& more) {
  for (const Expr& condition : known) Add(condition);
  for (const Expr& condition : more) Add(condition);
}

void InequalityChains::AddStep(const OffsetPart& a, const OffsetPart& b, int64_t slack) {
  const std::optional<int64_t> most = Sum(b.offset, -slack);
  if (const auto rest = most && a.offset != INT64_MIN ? Sum(*most, -a.offset) : std::nullopt)
    steps_.push_back({a.rest, b.rest, *rest});
}

void InequalityChains::Add(const Expr& condition) {
  const Binary* op = condition.As<Binary>();
  if (op == nullptr || !op->a.dtype().is_int() || !op->a.dtype().is_scalar()) return;
  const OffsetPart a = PlaceOf(op->a), b = PlaceOf(op->b);
  if (op->op == BinaryOp::kLT) AddStep(a, b, 1);
  if (op->op == BinaryOp::kLE || op->op == BinaryOp::kEQ) AddStep(a, b, 0);
  if (op->op == BinaryOp::kEQ) AddStep(b, a, 0);
}

// Whether a place is nearer than it was.
bool InequalityChains::Reach(const Expr& at, int64_t most, std::vector<Reached>& reached) {
  for (Reached& place : reached) {
    if (!SameExpr(place.at, at)) continue;
    if (place.most <= most) return false;
    place.most = most;
    return true;
  }
  reached.push_back({at, most});
  return true;
}

// One step from wherever the last ones ended.
bool InequalityChains::TakeSteps(std::vector<Reached>& reached) const {
  const std::vector<Reached> before = reached;
  bool is_nearer = false;
  for (const Reached& place : before) {
    for (const Step& step : steps_) {
      if (!SameExpr(place.at, step.from)) continue;
      if (const auto most = Sum(place.most, step.most)) is_nearer |= Reach(step.to, *most, reached);
    }
  }
  return is_nearer;
}

std::optional<int64_t> InequalityChains::LargestDifference(const Expr& a, const Expr& b, bool is_chain) const {
  const OffsetPart start = PlaceOf(a), end = PlaceOf(b);
  std::vector<Reached> reached{{start.rest, start.offset}};
  // Nothing is nearer after as many rounds as there are steps, unless they contradict each other.
  const size_t rounds = is_chain ? steps_.size() : 1;
  for (size_t round = 0; round < rounds && TakeSteps(reached); ++round) continue;
  for (const Reached& place : reached) {
    if (SameExpr(place.at, end.rest) && end.offset != INT64_MIN) return Sum(place.most, -end.offset);
  }
  return std::nullopt;
}

}  // namespace lathe
