#include "compiler/schedule/nest_numbers.h"

#include <algorithm>

#include "compiler/schedule/schedule.h"

namespace lathe {
namespace {

constexpr int64_t kLimit = int64_t{1} << 40;  // Of each number: sums of a few stay far from overflow.

DigitSpan SpanOf(const DigitSum& sum) { return {{sum.digits.data(), sum.digits.size()}, sum.base}; }

bool AreAlike(const Digit& a, const Digit& b) {
  return a.depth == b.depth && a.lower == b.lower && a.extent == b.extent;
}
// Adds `digit`, or to the scale of the same one.
void AddDigit(const Digit& digit, DigitSum& sum) {
  for (Digit& other : sum.digits)
    if (AreAlike(other, digit)) return void(other.scale += digit.scale);
  sum.digits.push_back(digit);
}

bool AddConstant(int64_t value, int64_t factor, DigitSum& sum) {
  if (std::abs(value) > kLimit / std::abs(factor)) return false;
  sum.base += value * factor;
  return std::abs(sum.base) <= kLimit;
}

bool AddScaled(const DigitSpan& from, int64_t factor, DigitSum& sum) {
  const auto fits = [&](const Digit& digit) { return digit.scale <= kLimit / factor / digit.extent; };
  if (factor < 1 || std::abs(from.base) > kLimit / factor || !std::all_of(from.digits.begin(), from.digits.end(), fits))
    return false;
  sum.base += from.base * factor;
  for (Digit digit : from.digits) {
    digit.scale *= factor;
    AddDigit(digit, sum);
  }
  return std::abs(sum.base) <= kLimit;
}

bool IsBelow(const Digit& a, const Digit& b) { return std::pair(a.depth, a.lower) < std::pair(b.depth, b.lower); }
bool IsSmaller(const Digit& a, const Digit& b) { return a.scale < b.scale; }

// Whether digits of one loop do not overlap: they take all combinations of their values. `all`: they are all of it.
// Sorted by IsBelow.
bool AreApart(const Digits& digits, bool all, const LoopChain& loops) {
  for (size_t i = 0; i < digits.size(); ++i) {
    const bool is_first = i == 0 || digits[i - 1].depth != digits[i].depth;
    const int64_t below = is_first ? 1 : digits[i - 1].lower * digits[i - 1].extent;
    if (all ? digits[i].lower != below : digits[i].lower % below != 0) return false;
    const bool is_last = i + 1 == digits.size() || digits[i + 1].depth != digits[i].depth;
    if (all && is_last && digits[i].lower * digits[i].extent != loops.extent(digits[i].depth)) return false;
  }
  return true;
}

// Whether who knows these digits of loop `depth`, sorted, knows its iteration.
bool Determine(const Digits& digits, int depth, const LoopChain& loops) {
  int64_t known = 1;  // The iteration is known but for multiples of this.
  for (const Digit& digit : digits) {
    if (digit.depth != depth) continue;
    if (known % digit.lower != 0) return false;
    known = std::max(known, digit.lower * digit.extent);
  }
  return known >= loops.extent(depth);
}

// Adds those digits of loops in [first, last] that an element shows, whatever the loops inside and `length` elements in
// a row add to the sum: from the largest down, as long as what is smaller does not reach the next step. Digits of loops
// outside are fixed.
void NoteShown(const DigitSpan& sum, int64_t length, int first, int last, Digits& shown) {
  int64_t reach = length - 1;
  Digits own;
  for (const Digit& digit : sum.digits) {
    if (digit.depth >= first) reach += digit.scale * (digit.extent - 1);
    if (digit.depth >= first && digit.depth <= last) own.push_back(digit);
  }
  std::sort(own.begin(), own.end(), IsSmaller);
  for (size_t i = own.size(); i-- > 0;) {
    reach -= own[i].scale * (own[i].extent - 1);
    if (own[i].scale <= reach) return;
    shown.push_back(own[i]);
  }
}

// How many values in a row, from its base on, the digits from `depth` on take, `length` elements each; nullopt: there
// are gaps. `exact`: none twice.
std::optional<int64_t> Filled(const DigitSpan& sum, int64_t length, int depth, bool exact) {
  Digits inner;
  for (const Digit& digit : sum.digits)
    if (digit.depth >= depth) inner.push_back(digit);
  std::sort(inner.begin(), inner.end(), IsSmaller);
  int64_t filled = length;
  for (const Digit& digit : inner) {
    if (exact ? digit.scale != filled : digit.scale > filled) return std::nullopt;
    filled += digit.scale * (digit.extent - 1);
  }
  return filled;
}

DigitSum OuterPart(const DigitSum& sum, int depth) {
  DigitSum outer{{}, sum.base};
  for (const Digit& digit : sum.digits)
    if (digit.depth < depth) outer.digits.push_back(digit);
  return outer;
}

bool HaveSameDigits(const DigitSum& a, const DigitSum& b) {
  const auto is_same = [](const Digit& x, const Digit& y) { return AreAlike(x, y) && x.scale == y.scale; };
  return a.digits.size() == b.digits.size() &&
         std::is_permutation(a.digits.begin(), a.digits.end(), b.digits.begin(), is_same);
}

const Digits& Sorted(Digits& digits) {
  std::sort(digits.begin(), digits.end(), IsBelow);
  return digits;
}

// Whether nothing but loops and sequences is around the block, and it has no predicate.
bool RunsEachTime(const Schedule& schedule, int block) {
  bool is_direct = IsConstInt(schedule.RealizeOf(block).predicate, 1) && schedule.IsDirect(block);
  for (int row = schedule.ParentOf(block); row >= 0 && schedule.IsLoop(row); row = schedule.ParentOf(row))
    is_direct = is_direct && schedule.IsDirect(row);
  return is_direct;
}

std::optional<int64_t> LengthOf(const Range& range) {
  const int64_t* extent = AsIntConst(range.extent);
  return extent != nullptr && *extent >= 1 && *extent <= kLimit ? std::optional(*extent) : std::nullopt;
}

}  // namespace

// ---- Loops -------------------------------------------------------------------------------------------------------

bool LoopChain::AddLoop(const For& loop) {
  const int64_t* extent = AsIntConst(loop.extent);
  if (!IsConstInt(loop.min, 0) || extent == nullptr || *extent < 1 || *extent > kLimit) return false;
  loops_.push_back({loop.loop_var.get(), *extent});
  return true;
}

std::optional<LoopChain> LoopChain::Around(const Schedule& schedule, int row) {
  LoopChain chain;
  chain.loops_.reserve(16);
  for (int above = schedule.ParentOf(row); above >= 0 && schedule.IsLoop(above); above = schedule.ParentOf(above))
    if (!chain.AddLoop(schedule.LoopOf(above))) return std::nullopt;
  std::reverse(chain.loops_.begin(), chain.loops_.end());
  return chain;
}

std::optional<LoopChain> LoopChain::DownTo(const Schedule& schedule, int loop) {
  std::optional<LoopChain> chain = Around(schedule, loop);
  return chain && chain->AddLoop(schedule.LoopOf(loop)) ? std::move(chain) : std::nullopt;
}

bool LoopChain::IsAround(const Schedule& schedule, int row) const {
  size_t i = loops_.size();
  for (int above = schedule.ParentOf(row); above >= 0 && schedule.IsLoop(above); above = schedule.ParentOf(above)) {
    const For& loop = schedule.LoopOf(above);
    if (i-- == 0 || loop.loop_var.get() != loops_[i].var || !IsConstInt(loop.min, 0) ||
        !IsConstInt(loop.extent, loops_[i].extent))
      return false;
  }
  return i == 0;
}

std::optional<Digit> LoopChain::ReadDigit(const Expr& e) const {
  if (IsVar(e)) {
    for (size_t i = loops_.size(); i-- > 0;)
      if (loops_[i].var == e.get()) return Digit{static_cast<int>(i), 1, loops_[i].extent, 1};
    return std::nullopt;
  }
  const Binary* op = e.As<Binary>();
  if (op == nullptr || (op->op != BinaryOp::kFloorDiv && op->op != BinaryOp::kFloorMod)) return std::nullopt;
  const int64_t* divisor = AsIntConst(op->b);
  std::optional<Digit> digit = divisor != nullptr && *divisor > 0 ? ReadDigit(op->a) : std::nullopt;
  if (!digit || digit->extent % *divisor != 0) return std::nullopt;
  if (op->op == BinaryOp::kFloorMod) {
    digit->extent = *divisor;
  } else {
    digit->lower *= *divisor;
    digit->extent /= *divisor;
  }
  return digit;
}

bool LoopChain::Add(const Expr& e, int64_t factor, DigitSum& sum) const {
  if (const int64_t* value = AsIntConst(e)) return AddConstant(*value, factor, sum);
  const Binary* op = e.As<Binary>();
  if (op != nullptr && op->op == BinaryOp::kAdd) return Add(op->a, factor, sum) && Add(op->b, factor, sum);
  if (op != nullptr && op->op == BinaryOp::kSub && AsIntConst(op->b) != nullptr)
    return Add(op->a, factor, sum) && Add(op->b, -factor, sum);
  if (op != nullptr && op->op == BinaryOp::kMul) {
    const int64_t* scale = AsIntConst(op->b);
    return scale != nullptr && *scale > 0 && *scale <= kLimit / factor && Add(op->a, factor * *scale, sum);
  }
  std::optional<Digit> digit = ReadDigit(e);
  if (!digit || factor > kLimit / digit->extent) return false;
  digit->scale = factor;
  if (digit->extent > 1) AddDigit(*digit, sum);
  return true;
}

std::optional<DigitSum> LoopChain::Read(const Expr& e) const {
  DigitSum sum;
  return Add(e, 1, sum) ? std::optional(std::move(sum)) : std::nullopt;
}

// ---- Bindings ----------------------------------------------------------------------------------------------------

std::shared_ptr<const NestNumbers> NestNumbers::Of(const Schedule& schedule, int block) {
  std::optional<LoopChain> loops = LoopChain::Around(schedule, block);
  if (!loops) return nullptr;
  const BlockRealize& realize = schedule.RealizeOf(block);
  auto numbers = std::make_shared<NestNumbers>();
  numbers->loops_ = *std::move(loops);
  numbers->iter_values_ = realize.iter_values;
  numbers->predicate_ = realize.predicate;
  numbers->is_certain_ = RunsEachTime(schedule, block);
  numbers->values_.reserve(realize.iter_values.size());
  numbers->digits_.reserve(2 * realize.iter_values.size());
  for (const Expr& value : realize.iter_values) numbers->AddValue(numbers->loops_.Read(value));
  return numbers;
}

bool NestNumbers::IsStillOf(const Schedule& schedule, int block) const {
  const BlockRealize& realize = schedule.RealizeOf(block);
  const auto is_same = [](const Expr& a, const Expr& b) { return a.same_as(b); };
  return RunsEachTime(schedule, block) == is_certain_ && loops_.IsAround(schedule, block) &&
         realize.predicate.same_as(predicate_) &&
         std::equal(realize.iter_values.begin(), realize.iter_values.end(), iter_values_.begin(), iter_values_.end(),
                    is_same);
}

bool NestNumbers::Add(const BlockNode& block, const Expr& e, int64_t factor, DigitSum& sum) const {
  if (const int64_t* value = AsIntConst(e)) return AddConstant(*value, factor, sum);
  if (IsVar(e)) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!block.iter_vars[i].var.same_as(e)) continue;
      const std::optional<DigitSpan> value = ValueOf(i);
      return value && AddScaled(*value, factor, sum);
    }
    return false;
  }
  const Binary* op = e.As<Binary>();
  if (op == nullptr) return false;
  if (op->op == BinaryOp::kAdd) return Add(block, op->a, factor, sum) && Add(block, op->b, factor, sum);
  if (op->op == BinaryOp::kSub && AsIntConst(op->b) != nullptr)
    return Add(block, op->a, factor, sum) && Add(block, op->b, -factor, sum);
  const int64_t* scale = op->op == BinaryOp::kMul ? AsIntConst(op->b) : nullptr;
  return scale != nullptr && *scale > 0 && *scale <= kLimit / factor && Add(block, op->a, factor * *scale, sum);
}

std::optional<DigitSum> NestNumbers::Index(const BlockNode& block, const Expr& e) const {
  DigitSum sum;
  return Add(block, e, 1, sum) ? std::optional(std::move(sum)) : std::nullopt;
}

NestNumbers NestNumbers::OfDomains(const LoopChain& loops, std::span<const DigitRange> domains) {
  NestNumbers numbers;
  numbers.loops_ = loops;
  for (size_t i = 0; i < domains.size(); ++i) {
    DigitSum value = domains[i].first;
    if (domains[i].length > 1) value.digits.push_back({loops.size() + static_cast<int>(i), 1, domains[i].length, 1});
    numbers.AddValue(value);
  }
  return numbers;
}

void NestNumbers::AddValue(const std::optional<DigitSum>& sum) {
  const size_t first = digits_.size();
  if (sum) digits_.insert(digits_.end(), sum->digits.begin(), sum->digits.end());
  values_.push_back({sum.has_value(), first, digits_.size(), sum ? sum->base : 0});
}

std::optional<DigitSpan> NestNumbers::ValueOf(size_t iter) const {
  const Value& value = values_[iter];
  if (!value.is_known) return std::nullopt;
  return DigitSpan{{digits_.data() + value.first, value.end - value.first}, value.base};
}

// ---- Questions ---------------------------------------------------------------------------------------------------

bool NestNumbers::TellsApart(const BlockNode& block, const BufferRegion& region, int depth) const {
  Digits shown;
  for (const Range& range : region.region) {
    const std::optional<int64_t> length = LengthOf(range);
    if (!length) continue;
    if (const std::optional<DigitSum> index = Index(block, range.min))
      NoteShown(SpanOf(*index), *length, depth, depth, shown);
  }
  return Determine(Sorted(shown), depth, loops_);
}

bool NestNumbers::CountsEachOnce(int depth) const {
  Digits shown;
  for (size_t i = 0; i < values_.size(); ++i)
    if (const std::optional<DigitSpan> value = ValueOf(i)) NoteShown(*value, 1, depth, loops_.size(), shown);
  Sorted(shown);
  for (int inner = depth; inner < loops_.size(); ++inner)
    if (!Determine(shown, inner, loops_)) return false;
  return true;
}

bool NestNumbers::RunsOverDomains(const BlockNode& block, bool only_reduce, bool once) const {
  if (!is_certain_) return false;
  Digits digits;
  for (size_t i = 0; i < values_.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    if (only_reduce && iter.kind == IterKind::kSpatial) continue;
    const std::optional<DigitSpan> value = ValueOf(i);
    const std::optional<int64_t> filled = value ? Filled(*value, 1, 0, /*exact=*/true) : std::nullopt;
    if (!filled || !IsConstInt(iter.domain.min, value->base) || !IsConstInt(iter.domain.extent, *filled)) return false;
    digits.insert(digits.end(), value->digits.begin(), value->digits.end());
  }
  return AreApart(Sorted(digits), once, loops_);
}

bool NestNumbers::IsAffine() const {
  if (!is_certain_) return false;
  Digits digits;
  for (size_t i = 0; i < values_.size(); ++i) {
    const std::optional<DigitSpan> value = ValueOf(i);
    if (!value || !Filled(*value, 1, 0, /*exact=*/true)) return false;
    digits.insert(digits.end(), value->digits.begin(), value->digits.end());
  }
  return AreApart(Sorted(digits), false, loops_);
}

std::optional<DigitBox> NestNumbers::TouchedAtMost(const BlockNode& block, const BufferRegion& region,
                                                   int depth) const {
  DigitBox box;
  for (const Range& range : region.region) {
    std::optional<int64_t> length = LengthOf(range);
    const std::optional<DigitSum> index = length ? Index(block, range.min) : std::nullopt;
    if (!index) return std::nullopt;
    for (const Digit& digit : index->digits)
      if (digit.depth >= depth) *length += digit.scale * (digit.extent - 1);
    box.push_back({OuterPart(*index, depth), *length});
  }
  return box;
}

std::optional<DigitBox> NestNumbers::TouchedForCertain(const BlockNode& block, std::span<const Expr> indices,
                                                       int depth) const {
  if (!is_certain_) return std::nullopt;
  DigitBox box;
  Digits inner;
  for (const Expr& e : indices) {
    const std::optional<DigitSum> index = Index(block, e);
    const std::optional<int64_t> filled = index ? Filled(SpanOf(*index), 1, depth, /*exact=*/false) : std::nullopt;
    if (!filled) return std::nullopt;
    for (const Digit& digit : index->digits)
      if (digit.depth >= depth) inner.push_back(digit);
    box.push_back({OuterPart(*index, depth), *filled});
  }
  return AreApart(Sorted(inner), false, loops_) ? std::optional(std::move(box)) : std::nullopt;
}

bool Covers(const DigitBox& outer, const DigitBox& inner, std::span<const Expr> shape) {
  if (outer.size() != inner.size()) return false;
  for (size_t d = 0; d < outer.size(); ++d) {
    const DigitRange &a = outer[d], &b = inner[d];
    const bool is_alike = HaveSameDigits(a.first, b.first), is_fixed = a.first.digits.empty();
    const int64_t end = a.first.base + a.length, *extent = AsIntConst(shape[d]);
    const bool starts = (is_alike && a.first.base <= b.first.base) || (is_fixed && a.first.base <= 0);
    const bool ends = (is_alike && b.first.base + b.length <= end) || (is_fixed && extent != nullptr && *extent <= end);
    if (!starts || !ends) return false;
  }
  return true;
}

bool RunOver(const LoopChain& loops, std::span<const DigitRange> ranges, std::span<const IterVar> domains) {
  Digits digits;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const std::optional<int64_t> filled = Filled(SpanOf(ranges[i].first), ranges[i].length, 0, /*exact=*/false);
    const int64_t *min = AsIntConst(domains[i].domain.min), *extent = AsIntConst(domains[i].domain.extent);
    const int64_t first = ranges[i].first.base;
    if (!filled || min == nullptr || extent == nullptr || first > *min || *min + *extent > first + *filled)
      return false;
    digits.insert(digits.end(), ranges[i].first.digits.begin(), ranges[i].first.digits.end());
  }
  return AreApart(Sorted(digits), false, loops);
}

}  // namespace lathe
