// DetectAccessRegions: an index as a linear form of outer terms plus an interval that holds what inner loops add; where
// that does not do, as a box over those loops.
#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>

#include "compiler/arith/canonicalizer.h"
#include "compiler/arith/int_set.h"
#include "compiler/ir/integer.h"
#include "compiler/ir/iter_bindings.h"
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
  LinearForm form;
  form.constant = constant;
  for (const Term& term : linear.terms) form.terms.push_back({term.expr, term.factor});
  return FormToExpr(form, type);
}

// One dimension of a region: the index as written, where it is a single point; else what is known of it, first
// `linear`, then `range`; the whole dimension if there is neither.
struct Touched {
  std::optional<Linear> linear;
  std::optional<Expr> point;
  std::optional<Range> range;
};
// What a buffer shows of another. A match shows it with its own rank, in the last dimensions.
struct View {
  const BufferRegion* source;
  bool is_match;
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
      views_.emplace(match.buffer.get(), View{&match.source, true});
    }
    if (block.init) VisitStmt(*block.init);
    VisitStmt(block.body);
    for (const MatchBufferRegion& match : block.match_buffers)
      for (const Range& range : match.source.region) {  // Memory may say which part it is.
        VisitExpr(range.min);
        VisitExpr(range.extent);
      }
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
    if (const BufferRealize* realize = stmt.As<BufferRealize>()) AddInner(realize->buffer);
    if (const DeclBuffer* declaration = stmt.As<DeclBuffer>()) {
      AddDeclared(declaration->buffer);
      return VisitStmt(declaration->body);  // Looking is no access yet.
    }
    if (const LetStmt* let = stmt.As<LetStmt>()) return VisitLet(*let, [this](const Stmt& body) { VisitStmt(body); });
    if (const Allocate* allocate = stmt.As<Allocate>()) inner_data_.insert(allocate->buffer_var.get());
    if (const AllocateConst* allocate = stmt.As<AllocateConst>()) inner_data_.insert(allocate->buffer_var.get());
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) {
      if (const IterVar* axis = std::get_if<IterVar>(&attr->node)) unknown_.insert(axis->var.get());
    }
    if (const IfThenElse* branch = stmt.As<IfThenElse>()) return VisitBranches(*branch);
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr& e) override {
    if (const Let* let = e.As<Let>()) return VisitLet(*let, [this](const Expr& body) { VisitExpr(body); });
    const Call* call = e.As<Call>();
    if (call != nullptr && call->op->name == "if_then_else" && call->args.size() == 3) return VisitChoice(*call);
    if (call != nullptr && call->op->name == "tvm_access_ptr" && TouchPointer(*call)) return;
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
    loops_.emplace_back(Var(loop.loop_var), Range{loop.min, loop.extent});
    StmtExprVisitor::VisitFor(self, loop);
    loops_.pop_back();
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
  void VisitVar(const Expr& var) override {  // Who has the address may read and write all of it.
    if (var.dtype() != DataType::Handle()) return;
    const Buffer* owner = OwnerOf(Var(var));
    if (owner == nullptr) return;
    TouchRegion(reads_, FullRegion(*owner), {});
    TouchRegion(writes_, FullRegion(*owner), {});
  }
  void VisitBlockRealize(const Stmt&, const BlockRealize& realize) override {
    const VarMap bindings = IterBindings(realize);
    for (const Expr& value : realize.iter_values) VisitExpr(value);
    VisitExpr(realize.predicate);
    for (const BufferRegion& region : realize.block->reads) TouchRegion(reads_, region, bindings);
    for (const BufferRegion& region : realize.block->writes) TouchRegion(writes_, region, bindings);
  }

 private:
  // Where a variable stands for an index, what is touched is what its value says.
  template <typename L, typename F>
  void VisitLet(const L& let, const F& visit) {
    VisitExpr(let.value);
    const bool is_index = IsIndexType(let.value.dtype()) && IsShort(let.value);
    if (is_index) return visit(Substitute(let.body, {{let.var.get(), let.value}}));
    unknown_.insert(let.var.get());
    visit(let.body);
  }
  // Values of values would grow beyond all bounds.
  static bool IsShort(const Expr& e) {
    int num_parts = 0;
    PostOrderVisit(e, [&](const Expr&) { ++num_parts; });
    return num_parts <= 64;
  }
  // Inner loops that a condition cuts run over what is left of them while `visit` does.
  void Where(const Expr& condition, const std::function<void()>& visit) {
    const auto ranges = ranges_;
    const auto loops = loops_;
    for (const Expr& part : ConjunctsOf(condition)) Cut(part);
    visit();
    ranges_ = ranges;
    loops_ = loops;
  }
  // Counts where `part` compares a multiple of one inner loop variable of constant bounds with a constant.
  void Cut(Expr part) {
    const Call* call = part.As<Call>();
    if (call != nullptr && call->op->name == "likely" && call->args.size() == 1) return Cut(Expr(call->args[0]));
    const Analyzer analyzer;
    part = analyzer.Simplify(part);
    const Binary* op = part.As<Binary>();
    if (op == nullptr || !IsIndexType(op->a.dtype())) return;
    const LinearForm form = Canonicalizer(analyzer).Form(op->a - op->b);
    if (form.terms.size() != 1 || form.has_overflowed || !form.terms[0].is_whole()) return;
    const auto found = ranges_.find(form.terms[0].source.get());
    if (found == ranges_.end() || !found->second.terms.empty()) return;
    const std::optional<IntBound> left =
        CutBy(op->op, form.terms[0].scale, form.constant, {found->second.low, found->second.high});
    if (!left || left->min > left->max) return;
    found->second.low = left->min;
    found->second.high = left->max;
    const DataType type = op->a.dtype();
    for (auto& [var, range] : loops_)
      if (var.get() == found->first) range = {IntConst(type, left->min), IntConst(type, left->max - left->min + 1)};
  }
  // The x of `bound` for which scale * x + constant OP 0; nullopt for an operator that says nothing of bounds.
  static std::optional<IntBound> CutBy(BinaryOp op, int64_t scale, int64_t constant, IntBound bound) {
    if (std::abs(scale) > kLimit || std::abs(constant) > kLimit) return std::nullopt;
    const bool is_equal = op == BinaryOp::kEQ, is_strict = op == BinaryOp::kLT || op == BinaryOp::kGT;
    if (!is_equal && !is_strict && op != BinaryOp::kLE && op != BinaryOp::kGE) return std::nullopt;
    const auto at_most = [&](int64_t a, int64_t c) {  // a * x + c <= 0
      if (a > 0) bound.max = std::min(bound.max, FloorDivide(-c, a));
      if (a < 0) bound.min = std::max(bound.min, -FloorDivide(-c, -a));
    };
    const int64_t step = is_strict ? 1 : 0;
    if (is_equal || op == BinaryOp::kLT || op == BinaryOp::kLE) at_most(scale, constant + step);
    if (is_equal || op == BinaryOp::kGT || op == BinaryOp::kGE) at_most(-scale, -constant + step);
    return bound;
  }
  void VisitBranches(const IfThenElse& branch) {
    VisitExpr(branch.condition);
    Where(branch.condition, [&] { VisitStmt(branch.then_case); });
    if (branch.else_case) Where(MakeNot(branch.condition), [&] { VisitStmt(*branch.else_case); });
  }
  void VisitChoice(const Call& call) {
    VisitExpr(call.args[0]);
    Where(call.args[0], [&] { VisitExpr(call.args[1]); });
    Where(MakeNot(call.args[0]), [&] { VisitExpr(call.args[2]); });
  }
  // A pointer that says whether it is for reading (1), for writing (2) or for both. False: it is no such pointer.
  bool TouchPointer(const Call& call) {
    const int64_t* mask = call.args.size() == 5 && IsVar(call.args[1]) ? AsIntConst(call.args[4]) : nullptr;
    if (mask == nullptr) return false;
    if (const Buffer* owner = OwnerOf(Var(call.args[1]))) {
      if ((*mask & 1) != 0) TouchRegion(reads_, FullRegion(*owner), {});
      if ((*mask & 2) != 0) TouchRegion(writes_, FullRegion(*owner), {});
    }
    VisitExpr(call.args[2]);
    VisitExpr(call.args[3]);
    return true;
  }
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
      views_.emplace(buffer.get(), View{&declared_.back(), false});
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
    if (const Ramp* ramp = e.As<Ramp>(); ramp != nullptr && !e.dtype().is_scalable) return AnalyzeRamp(*ramp);
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
  // Whether `e` is the same while the block runs: no inner variable, no load of integers that are made inside.
  bool IsFree(const Expr& e) {
    bool is_free = true;
    PostOrderVisit(e, [&](const Expr& part) {
      const BufferLoad* load = part.As<BufferLoad>();
      const bool is_known = load == nullptr || (part.dtype().is_int() && inner_.count(load->buffer.get()) == 0 &&
                                                views_.count(load->buffer.get()) == 0);
      is_free = is_free && is_known && part.As<Call>() == nullptr && ranges_.count(part.get()) == 0 &&
                unknown_.count(part.get()) == 0;
    });
    return is_free;
  }

  Touched TouchPoint(const Expr& index) {
    Touched touched{Analyze(index), std::nullopt, std::nullopt};
    if (touched.linear && touched.linear->low == touched.linear->high && index.dtype().is_scalar() && IsFree(index))
      touched.point = index;
    if (!touched.linear) touched.range = Relaxed({index, IntConst(index.dtype(), 1)});
    return touched;
  }
  // `range` over the inner loops; nullopt where it has no bounds.
  std::optional<Range> Relaxed(const Range& range) {
    if (!IsIndexType(range.min.dtype()) || loops_.empty()) return std::nullopt;
    const std::vector<Range> none{{IntConst(range.min.dtype(), 0), IntConst(range.min.dtype(), 0)}};
    const Range box = RelaxRegion({range}, loops_, Analyzer(), &none)[0];
    if (IsConstInt(box.extent, 0) || !IsFree(box.min) || !IsFree(box.extent)) return std::nullopt;
    return box;
  }
  void Touch(std::vector<BufferTouched>& list, const Buffer& buffer, const std::vector<Expr>& indices) {
    const auto view = views_.find(buffer.get());
    if (view != views_.end()) {
      std::vector<Range> points;
      for (const Expr& index : indices) points.push_back({index, IntConst(index.dtype(), 1)});
      return TouchRegion(list, InSource(view->second, points), {});
    }
    if (inner_.count(buffer.get()) != 0) return;
    BufferTouched touched{buffer, {}};
    for (const Expr& index : indices) touched.dims.push_back(TouchPoint(index));
    Merge(list, std::move(touched));
  }
  // What `region` of a view is of what it shows.
  static BufferRegion InSource(const View& view, const std::vector<Range>& region) {
    BufferRegion source = *view.source;
    const bool is_scalar =
        std::all_of(region.begin(), region.end(), [](const Range& r) { return r.min.dtype().is_scalar(); });
    if (!view.is_match || !is_scalar || region.size() > source.region.size()) return source;
    const size_t offset = source.region.size() - region.size();
    for (size_t i = 0; i < region.size(); ++i)
      source.region[offset + i] = {source.region[offset + i].min + region[i].min, region[i].extent};
    return source;
  }
  void TouchRegion(std::vector<BufferTouched>& list, const BufferRegion& region, const VarMap& bindings) {
    std::vector<Range> bound;
    for (const Range& range : region.region)
      bound.push_back({Substitute(range.min, bindings), Substitute(range.extent, bindings)});
    const auto view = views_.find(region.buffer.get());
    if (view != views_.end()) return TouchRegion(list, InSource(view->second, bound), {});
    if (inner_.count(region.buffer.get()) != 0) return;
    BufferTouched touched{region.buffer, {}};
    for (const Range& range : bound) touched.dims.push_back(TouchRange(range));
    Merge(list, std::move(touched));
  }
  Touched TouchRange(const Range& range) {
    const int64_t* extent = AsIntConst(range.extent);
    if (extent == nullptr) {
      if (!loops_.empty()) return {std::nullopt, std::nullopt, Relaxed(range)};
      const bool is_known = IsFree(range.min) && IsFree(range.extent);
      return {std::nullopt, std::nullopt, is_known ? std::optional(range) : std::nullopt};
    }
    if (*extent < 1 || *extent > kLimit) return {};
    Touched dim = TouchPoint(range.min);
    if (*extent == 1) return dim;
    dim.point.reset();
    if (dim.linear) dim.linear->high += *extent - 1;
    if (dim.range) dim.range->extent = Analyzer().Simplify(dim.range->extent + (*extent - 1));
    return dim;
  }
  // The box around two of which no difference is known.
  static Touched Around(const Touched& a, const Touched& b, const Expr& shape) {
    const bool is_a_known = a.point || a.linear || a.range, is_b_known = b.point || b.linear || b.range;
    if (!is_a_known || !is_b_known) return {};
    const Analyzer analyzer;
    const IntSet hull = Union(IntSet::FromRange(ToRange(a, shape)), IntSet::FromRange(ToRange(b, shape)), analyzer);
    return {std::nullopt, std::nullopt, hull.ToRange(analyzer)};
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
        a = Around(a, b, touched.buffer->shape[i]);
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
    if (!dim.linear && dim.range) return *dim.range;
    if (!dim.linear) return {IntConst(shape.dtype(), 0), shape};
    const int64_t low = dim.linear->low, high = dim.linear->high;
    const DataType type = dim.linear->terms.empty() ? shape.dtype() : dim.linear->terms[0].expr.dtype();
    return {ToExpr(*dim.linear, low, type), IntConst(type, high - low + 1)};  // As TVM, also beyond the shape.
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
  std::unordered_map<const BufferNode*, View> views_;
  std::vector<std::pair<Var, Range>> loops_;  // Around what is looked at, outermost first.
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
