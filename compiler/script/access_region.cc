// DetectAccessRegions: an index as a linear form of outer terms plus an interval that holds what inner loops add.
#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "compiler/ir/integer.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/complete.h"

namespace lathe {
namespace {

constexpr int64_t kLimit = int64_t{1} << 40;  // Beyond, a bound counts as unknown: nothing here overflows.

struct Term {
  Expr expr;
  int64_t factor;
};
// sum(factor * expr) + [low, high]
struct Linear {
  std::vector<Term> terms;
  int64_t low = 0, high = 0;
};

std::optional<Linear> Checked(Linear linear) {
  if (std::abs(linear.low) > kLimit || std::abs(linear.high) > kLimit) return std::nullopt;
  for (const Term& term : linear.terms) {
    if (std::abs(term.factor) > kLimit) return std::nullopt;
  }
  return linear;
}

std::optional<Linear> Sum(const Linear& a, const Linear& b, int64_t factor) {
  Linear sum = a;
  for (const Term& term : b.terms) {
    const auto same = std::find_if(sum.terms.begin(), sum.terms.end(),
                                   [&](const Term& t) { return StructuralEqual(t.expr, term.expr); });
    if (same == sum.terms.end()) {
      sum.terms.push_back({term.expr, term.factor * factor});
    } else if ((same->factor += term.factor * factor) == 0) {
      sum.terms.erase(same);
    }
  }
  sum.low += factor * (factor > 0 ? b.low : b.high);
  sum.high += factor * (factor > 0 ? b.high : b.low);
  return Checked(std::move(sum));
}

bool SameTerms(const Linear& a, const Linear& b) {
  const std::optional<Linear> difference = Sum(a, b, -1);
  return difference && difference->terms.empty();
}

Expr ToExpr(const Linear& linear, int64_t constant, DataType type) {
  std::optional<Expr> sum;
  for (const Term& term : linear.terms) {
    const Expr product = term.expr * IntConst(type, term.factor);
    sum = sum ? *sum + product : product;
  }
  if (!sum) return IntConst(type, constant);
  return constant < 0 ? *sum - IntConst(type, -constant) : *sum + IntConst(type, constant);
}

// One dimension of a region. `exact` is the index as written, where it is a single point.
struct Touched {
  std::optional<Linear> linear;  // nullopt: the whole dimension.
  std::optional<Expr> point;
};
struct BufferTouched {
  Buffer buffer;
  std::vector<Touched> dims;
};

class Detector : public StmtExprVisitor {
 public:
  explicit Detector(const DataOwners& owners) : owners_(owners) {}
  AccessRegions Run(const BlockNode& block) {
    for (const Buffer& buffer : block.alloc_buffers) AddInner(buffer);
    for (const MatchBufferRegion& match : block.match_buffers) {
      inner_.insert(match.buffer.get());
      view_data_.emplace(match.buffer->data.get(), match.source.buffer);
      views_.emplace(match.buffer.get(), &match.source);
    }
    if (block.init) VisitStmt(*block.init);
    VisitStmt(block.body);
    AccessRegions regions;
    for (const BufferTouched& touched : writes_) regions.writes.push_back(ToRegion(touched));
    for (const BufferTouched& touched : reads_) {
      const bool is_written = block.init && std::any_of(writes_.begin(), writes_.end(), [&](const BufferTouched& w) {
                                return w.buffer.same_as(touched.buffer);
                              });
      if (!is_written) regions.reads.push_back(ToRegion(touched));
    }
    return regions;
  }

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const AllocBuffer* allocate = stmt.As<AllocBuffer>()) AddInner(allocate->buffer);
    if (const DeclBuffer* declaration = stmt.As<DeclBuffer>()) {
      AddDeclared(declaration->buffer);
      return VisitStmt(declaration->body);  // Looking is no access yet.
    }
    if (const LetStmt* let = stmt.As<LetStmt>()) unknown_.insert(let->var.get());
    if (const Allocate* allocate = stmt.As<Allocate>()) inner_data_.insert(allocate->buffer_var.get());
    if (const AllocateConst* allocate = stmt.As<AllocateConst>()) inner_data_.insert(allocate->buffer_var.get());
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) {
      if (const IterVar* axis = std::get_if<IterVar>(&attr->node)) unknown_.insert(axis->var.get());
    }
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr& e) override {
    if (const Let* let = e.As<Let>()) unknown_.insert(let->var.get());
    StmtExprVisitor::VisitExpr(e);
  }
  void VisitFor(const Stmt& self, const For& loop) override {
    const int64_t* extent = AsIntConst(loop.extent);
    std::optional<Linear> range =
        extent != nullptr && *extent > 0 && *extent < kLimit ? Analyze(loop.min) : std::nullopt;
    if (range) {
      range->high += *extent - 1;
      ranges_.insert_or_assign(loop.loop_var.get(), *range);
    } else {
      unknown_.insert(loop.loop_var.get());
    }
    StmtExprVisitor::VisitFor(self, loop);
  }
  void VisitBufferStore(const Stmt& self, const BufferStore& store) override {
    Touch(writes_, store.buffer, store.indices);
    VisitExpr(store.value);
    for (const Expr& index : store.indices) VisitExpr(index);
  }
  void VisitBufferLoad(const Expr& self, const BufferLoad& load) override {
    Touch(reads_, load.buffer, load.indices);
    StmtExprVisitor::VisitBufferLoad(self, load);
  }
  void VisitVar(const Var& var) override {  // Who has the address may read and write all of it.
    if (var.dtype() != DataType::Handle()) return;
    const Buffer* owner = OwnerOf(var);
    if (owner == nullptr) return;
    TouchRegion(reads_, FullRegion(*owner), {});
    TouchRegion(writes_, FullRegion(*owner), {});
  }
  void VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    VarMap bindings;
    for (size_t i = 0; i < realize.iter_values.size() && i < realize.block->iter_vars.size(); ++i) {
      bindings.emplace(realize.block->iter_vars[i].var.get(), realize.iter_values[i]);
    }
    for (const Expr& value : realize.iter_values) VisitExpr(value);
    VisitExpr(realize.predicate);
    for (const BufferRegion& region : realize.block->reads) TouchRegion(reads_, region, bindings);
    for (const BufferRegion& region : realize.block->writes) TouchRegion(writes_, region, bindings);
  }

 private:
  void AddInner(const Buffer& buffer) {
    inner_.insert(buffer.get());
    inner_data_.insert(buffer->data.get());
  }
  const Buffer* OwnerOf(const Var& data) const {
    for (const DataOwners* owners : {&view_data_, &owners_}) {
      const auto found = owners->find(data.get());
      if (found != owners->end()) return &found->second;
    }
    return nullptr;
  }
  void AddDeclared(const Buffer& buffer) {
    if (inner_data_.count(buffer->data.get()) != 0) {
      inner_.insert(buffer.get());
    } else if (const Buffer* owner = OwnerOf(buffer->data)) {
      declared_.push_back(FullRegion(*owner));
      views_.emplace(buffer.get(), &declared_.back());
    }
  }
  std::optional<Linear> Analyze(const Expr& e) {
    if (const int64_t* value = AsIntConst(e)) return Checked({{}, *value, *value});
    if (IsVar(e)) {
      if (unknown_.count(e.get()) != 0) return std::nullopt;
      const auto range = ranges_.find(e.get());
      if (range != ranges_.end()) return range->second;
      return Linear{{{e, 1}}, 0, 0};
    }
    if (const Ramp* ramp = e.As<Ramp>()) return AnalyzeRamp(*ramp);
    if (const Binary* binary = e.As<Binary>()) {
      if (std::optional<Linear> known = AnalyzeBinary(*binary)) return known;
    }
    if (e.dtype().is_int() && e.dtype().is_scalar() && IsFree(e)) return Linear{{{e, 1}}, 0, 0};
    return std::nullopt;
  }
  std::optional<Linear> AnalyzeRamp(const Ramp& ramp) {
    std::optional<Linear> base = Analyze(ramp.base);
    const int64_t* stride = AsIntConst(ramp.stride);
    if (!base || stride == nullptr || std::abs(*stride) > kLimit / ramp.lanes) return std::nullopt;
    (*stride > 0 ? base->high : base->low) += *stride * (ramp.lanes - 1);
    return Checked(*base);
  }
  std::optional<Linear> AnalyzeBinary(const Binary& e) {
    const std::optional<Linear> a = Analyze(e.a), b = Analyze(e.b);
    if (!a || !b) return std::nullopt;
    const bool a_is_number = a->terms.empty(), b_is_number = b->terms.empty();
    const auto constant = [](const Linear& x) { return x.terms.empty() && x.low == x.high; };
    const auto scaled = [](const Linear& x, int64_t factor) {
      return std::abs(factor) > kLimit / 1024 ? std::nullopt : Sum({}, x, factor);
    };
    switch (e.op) {
      case BinaryOp::kAdd:
        return Sum(*a, *b, 1);
      case BinaryOp::kSub:
        return Sum(*a, *b, -1);
      case BinaryOp::kMul:
        if (constant(*b) && std::abs(b->low) < 1 << 20) return scaled(*a, b->low);
        if (constant(*a) && std::abs(a->low) < 1 << 20) return scaled(*b, a->low);
        return std::nullopt;
      case BinaryOp::kFloorDiv:
        if (!a_is_number || !constant(*b) || b->low <= 0) return std::nullopt;
        return Linear{{}, FloorDivide(a->low, b->low), FloorDivide(a->high, b->low)};
      case BinaryOp::kFloorMod:
        if (!a_is_number || !constant(*b) || b->low <= 0) return std::nullopt;
        if (FloorDivide(a->low, b->low) == FloorDivide(a->high, b->low))
          return Linear{{}, FloorModulo(a->low, b->low), FloorModulo(a->high, b->low)};
        return Linear{{}, 0, b->low - 1};
      case BinaryOp::kMin:
        if (!a_is_number || !b_is_number) return std::nullopt;
        return Linear{{}, std::min(a->low, b->low), std::min(a->high, b->high)};
      case BinaryOp::kMax:
        if (!a_is_number || !b_is_number) return std::nullopt;
        return Linear{{}, std::max(a->low, b->low), std::max(a->high, b->high)};
      default:
        return std::nullopt;
    }
  }
  // Whether nothing in `e` changes while the block runs: no inner variable, no load.
  bool IsFree(const Expr& e) {
    bool is_free = true;
    PostOrderVisit(e, [&](const Expr& part) {
      is_free = is_free && part.As<BufferLoad>() == nullptr && part.As<Call>() == nullptr &&
                ranges_.count(part.get()) == 0 && unknown_.count(part.get()) == 0;
    });
    return is_free;
  }

  Touched TouchPoint(const Expr& index) {
    Touched touched{Analyze(index), std::nullopt};
    if (touched.linear && touched.linear->low == touched.linear->high && index.dtype().is_scalar() && IsFree(index))
      touched.point = index;
    return touched;
  }
  void Touch(std::vector<BufferTouched>& list, const Buffer& buffer, const std::vector<Expr>& indices) {
    const auto view = views_.find(buffer.get());
    if (view != views_.end()) return TouchRegion(list, *view->second, {});
    if (inner_.count(buffer.get()) != 0) return;
    BufferTouched touched{buffer, {}};
    for (const Expr& index : indices) touched.dims.push_back(TouchPoint(index));
    Merge(list, std::move(touched));
  }
  void TouchRegion(std::vector<BufferTouched>& list, const BufferRegion& region, const VarMap& bindings) {
    const auto view = views_.find(region.buffer.get());
    if (view != views_.end()) return TouchRegion(list, *view->second, {});
    if (inner_.count(region.buffer.get()) != 0) return;
    BufferTouched touched{region.buffer, {}};
    for (const Range& range : region.region) {
      Touched dim = TouchPoint(Substitute(range.min, bindings));
      const int64_t* extent = AsIntConst(range.extent);
      if (extent == nullptr || *extent < 1 || *extent > kLimit) {
        dim = {};
      } else if (*extent > 1) {
        dim.point.reset();
        if (dim.linear) dim.linear->high += *extent - 1;
      }
      touched.dims.push_back(std::move(dim));
    }
    Merge(list, std::move(touched));
  }
  static void Merge(std::vector<BufferTouched>& list, BufferTouched touched) {
    const auto known = std::find_if(list.begin(), list.end(),
                                    [&](const BufferTouched& t) { return t.buffer.same_as(touched.buffer); });
    if (known == list.end()) {
      list.push_back(std::move(touched));
      return;
    }
    for (size_t i = 0; i < known->dims.size(); ++i) {
      Touched& a = known->dims[i];
      const Touched& b = touched.dims[i];
      if (a.point && b.point && StructuralEqual(*a.point, *b.point)) continue;
      if (!a.linear || !b.linear || !SameTerms(*a.linear, *b.linear)) {
        a = {};
        continue;
      }
      if (a.linear->low == b.linear->low && a.linear->high == b.linear->high && a.point) continue;
      a.point.reset();
      a.linear->low = std::min(a.linear->low, b.linear->low);
      a.linear->high = std::max(a.linear->high, b.linear->high);
    }
  }

  static Range ToRange(const Touched& dim, const Expr& shape) {
    if (dim.point) return {*dim.point, IntConst(dim.point->dtype(), 1)};
    if (!dim.linear) return {IntConst(shape.dtype(), 0), shape};
    int64_t low = dim.linear->low, high = dim.linear->high;
    DataType type = shape.dtype();
    if (!dim.linear->terms.empty()) type = dim.linear->terms[0].expr.dtype();
    const int64_t* size = AsIntConst(shape);
    if (dim.linear->terms.empty() && size != nullptr && *size > 0) {  // What lies outside is not there to be touched.
      low = std::clamp<int64_t>(low, 0, *size - 1);
      high = std::clamp<int64_t>(high, low, *size - 1);
    }
    return {ToExpr(*dim.linear, low, type), IntConst(type, high - low + 1)};
  }
  static BufferRegion ToRegion(const BufferTouched& touched) {
    BufferRegion region{touched.buffer, {}};
    for (size_t i = 0; i < touched.dims.size(); ++i)
      region.region.push_back(ToRange(touched.dims[i], touched.buffer->shape[i]));
    return region;
  }

  std::unordered_map<const ExprNode*, Linear> ranges_;  // Of inner loop variables, in outer terms.
  std::unordered_set<const ExprNode*> unknown_;         // Inner variables without known range.
  std::unordered_set<const BufferNode*> inner_;         // Live during the block only.
  std::unordered_map<const BufferNode*, const BufferRegion*> views_;
  std::unordered_set<const ExprNode*> inner_data_;
  DataOwners view_data_;
  const DataOwners& owners_;
  std::deque<BufferRegion> declared_;  // What views_ points to for declared buffers.
  std::vector<BufferTouched> reads_, writes_;
};

}  // namespace

AccessRegions DetectAccessRegions(const BlockNode& block, const DataOwners& owners) {
  return Detector(owners).Run(block);
}

void RecomputeRegions(BlockNode& block) {
  AccessRegions regions = DetectAccessRegions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
}

}  // namespace lathe
