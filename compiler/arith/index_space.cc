#include "compiler/arith/index_space.h"

#include <algorithm>
#include <limits>

#include "compiler/ir/integer.h"

namespace lathe {
namespace {

constexpr int64_t kFar = int64_t{1} << 40;  // Stands for "anywhere"; buffers are clamped to their shape.

AffineForm Scale(AffineForm form, int64_t factor) {
  if (factor == 0) return {};
  form.constant *= factor;
  for (IndexTerm& term : form.terms) term.coeff *= factor;
  return form;
}

AffineForm Add(const AffineForm& a, const AffineForm& b) {
  AffineForm sum{a.constant + b.constant, {}};
  sum.terms.reserve(a.terms.size() + b.terms.size());
  size_t i = 0, k = 0;
  while (i < a.terms.size() || k < b.terms.size()) {
    if (k == b.terms.size() || (i < a.terms.size() && a.terms[i].id < b.terms[k].id)) {
      sum.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[k].id < a.terms[i].id) {
      sum.terms.push_back(b.terms[k++]);
    } else {
      const int64_t coeff = a.terms[i].coeff + b.terms[k].coeff;
      if (coeff != 0) sum.terms.push_back({a.terms[i].id, coeff});
      ++i, ++k;
    }
  }
  return sum;
}

}  // namespace

int IndexSpace::AddLoop(const Var& var, int64_t extent) {
  const int id = static_cast<int>(terms_.size());
  terms_.push_back({Kind::kLoop, std::max<int64_t>(1, extent), Bit(num_loops_++), {}});
  Know(var, extent > 1 ? OfTerm(id) : AffineForm{}, true);
  return id;
}

void IndexSpace::Know(const Var& var, AffineForm form, bool is_exact) {
  if (vars_.empty()) vars_.reserve(32);
  vars_.push_back({var.get(), std::move(form), is_exact});
}

const IndexSpace::Known* IndexSpace::Find(const Expr& var) const {
  const auto found =
      std::find_if(vars_.rbegin(), vars_.rend(), [&](const Known& known) { return known.var == var.get(); });
  return found == vars_.rend() ? nullptr : &*found;
}

void IndexSpace::Bind(const Var& var, const Expr& value) {
  is_exact_ = true;
  AffineForm form = Parse(value);
  Know(var, std::move(form), is_exact_);
}

std::vector<int> IndexSpace::AddIters(const BlockNode& block) {
  std::vector<int> ids;
  for (const IterVar& iter : block.iter_vars) {
    const int64_t* extent = AsIntConst(iter.domain.extent);
    ids.push_back(AddLoop(iter.var, extent == nullptr ? 1 : *extent));
  }
  return ids;
}

std::optional<AffineForm> IndexSpace::ParseExactly(const Expr& e) {
  is_exact_ = true;
  AffineForm form = Parse(e);
  return is_exact_ ? std::optional(std::move(form)) : std::nullopt;
}

std::optional<AffineForm> IndexSpace::FlatPlace(const BufferRegion& region) {
  const std::optional<std::vector<int64_t>> shape = ConstantShape(region.buffer->shape);
  if (!shape || !region.buffer->strides.empty()) return std::nullopt;
  AffineForm place;
  for (size_t dim = 0; dim < shape->size(); ++dim) {
    const std::optional<AffineForm> index = ParseExactly(region.region[dim].min);
    if (!index) return std::nullopt;
    place = Add(Scale(std::move(place), (*shape)[dim]), *index);
  }
  return place;
}

AffineForm IndexSpace::Unknown(uint64_t loops) {
  is_exact_ = false;
  terms_.push_back({Kind::kUnknown, 1, loops, {}});
  return OfTerm(static_cast<int>(terms_.size()) - 1);
}

// Terms that the divisor divides leave as a sum; a rest in [0, divisor) vanishes from the quotient.
AffineForm IndexSpace::Divide(const AffineForm& form, int64_t divisor, bool want_quotient) {
  AffineForm whole, rest;
  whole.constant = FloorDivide(form.constant, divisor);
  rest.constant = form.constant - whole.constant * divisor;
  for (const IndexTerm& term : form.terms) {
    if (term.coeff % divisor == 0)
      whole.terms.push_back({term.id, term.coeff / divisor});
    else
      rest.terms.push_back(term);
  }
  const IndexInterval cover = Cover(rest, ~uint64_t{0});
  const bool is_inside = cover.low >= 0 && cover.high < divisor;
  if (is_inside) return want_quotient ? whole : rest;
  terms_.push_back({want_quotient ? Kind::kDiv : Kind::kMod, divisor, LoopsOf(rest), rest});
  const AffineForm made = OfTerm(static_cast<int>(terms_.size()) - 1);
  return want_quotient ? Add(whole, made) : made;
}

AffineForm IndexSpace::Parse(const Expr& e) {
  if (const IntImm* imm = e.As<IntImm>()) return {imm->value, {}};
  if (IsVar(e)) {
    const Known* found = Find(e);
    is_exact_ = is_exact_ && found != nullptr && found->is_exact;
    return found == nullptr ? AffineForm{} : found->form;
  }
  if (const Cast* cast = e.As<Cast>()) return Parse(cast->value);
  if (const Ramp* ramp = e.As<Ramp>()) {
    is_exact_ = false;
    return Parse(ramp->base);
  }
  if (const Broadcast* broadcast = e.As<Broadcast>()) return Parse(broadcast->value);
  const Binary* binary = e.As<Binary>();
  if (binary == nullptr) {
    uint64_t loops = 0;
    if (const BufferLoad* load = e.As<BufferLoad>()) {
      for (const Expr& index : load->indices) loops |= LoopsOf(Parse(index));
    } else {
      loops = ~uint64_t{0};
    }
    return Unknown(loops);
  }
  const AffineForm a = Parse(binary->a), b = Parse(binary->b);
  const bool truncates = binary->op == BinaryOp::kDiv || binary->op == BinaryOp::kTruncMod;
  if (truncates && Cover(a, ~uint64_t{0}).low < 0) is_exact_ = false;
  switch (binary->op) {
    case BinaryOp::kAdd:
      return Add(a, b);
    case BinaryOp::kSub:
      return Add(a, Scale(b, -1));
    case BinaryOp::kMul:
      if (b.terms.empty()) return Scale(a, b.constant);
      if (a.terms.empty()) return Scale(b, a.constant);
      break;
    case BinaryOp::kFloorDiv:
    case BinaryOp::kDiv:
      if (b.terms.empty() && b.constant > 0) return Divide(a, b.constant, true);
      break;
    case BinaryOp::kFloorMod:
    case BinaryOp::kTruncMod:
      if (b.terms.empty() && b.constant > 0) return Divide(a, b.constant, false);
      break;
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      is_exact_ = false;
      return a.terms.empty() ? b : a;  // A clamp moves with what it clamps.
    default:
      break;
  }
  return Unknown(LoopsOf(a) | LoopsOf(b));
}

uint64_t IndexSpace::LoopsOf(const AffineForm& form) const {
  uint64_t loops = 0;
  for (const IndexTerm& term : form.terms) loops |= terms_[term.id].loops;
  return loops;
}

IndexInterval IndexSpace::CoverTerm(const Term& term, uint64_t running) const {
  if ((term.loops & running) == 0 && term.kind != Kind::kDiv && term.kind != Kind::kMod) return {};
  switch (term.kind) {
    case Kind::kLoop:
      return {0, term.extent - 1};
    case Kind::kUnknown:
      return {0, kFar};
    case Kind::kDiv: {
      const IndexInterval inner = Cover(term.inner, running);
      return {FloorDivide(inner.low, term.extent), FloorDivide(inner.high, term.extent)};
    }
    case Kind::kMod: {
      const IndexInterval inner = Cover(term.inner, running);
      const int64_t base = FloorDivide(inner.low, term.extent) * term.extent;
      if (inner.high < base + term.extent) return {inner.low - base, inner.high - base};
      return {0, term.extent - 1};
    }
  }
  return {};
}

IndexInterval IndexSpace::Cover(const AffineForm& form, uint64_t running) const {
  IndexInterval sum{form.constant, form.constant};
  for (const IndexTerm& term : form.terms) {
    const IndexInterval one = CoverTerm(terms_[term.id], running);
    sum.low += term.coeff * (term.coeff > 0 ? one.low : one.high);
    sum.high += term.coeff * (term.coeff > 0 ? one.high : one.low);
  }
  return {std::clamp(sum.low, -kFar, kFar), std::clamp(sum.high, -kFar, kFar)};
}

int64_t IndexSpace::TermAt(int id, int loop, int64_t value) const {
  const Term& term = terms_[id];
  switch (term.kind) {
    case Kind::kLoop:
      return id == loop ? value : 0;
    case Kind::kUnknown:
      return (term.loops & terms_[loop].loops) != 0 && value != 0 ? kFar : 0;
    case Kind::kDiv:
      return FloorDivide(At(term.inner, loop, value), term.extent);
    case Kind::kMod: {
      const int64_t inner = At(term.inner, loop, value);
      return inner - FloorDivide(inner, term.extent) * term.extent;
    }
  }
  return 0;
}

int64_t IndexSpace::At(const AffineForm& form, int loop, int64_t value) const {
  int64_t sum = form.constant;
  for (const IndexTerm& term : form.terms) sum += term.coeff * TermAt(term.id, loop, value);
  return sum;
}

}  // namespace lathe
