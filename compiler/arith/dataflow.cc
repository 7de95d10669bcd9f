#include "compiler/arith/dataflow.h"

#include <isl/aff.h>
#include <isl/cpp.h>
#include <isl/ctx.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "compiler/arith/guarded_region.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// What one question may cost; those of tuned programs take some thousands.
constexpr unsigned long kMaxOperations = 2'000'000;

using Dims = std::unordered_map<const ExprNode*, unsigned>;  // Variable -> dimension of a set.

// A product or quotient of variables, or what memory holds, as a dimension of its own.
struct Unknown {
  Expr term;
  unsigned dim;
};

bool LoadsFrom(const Expr& e, const ChangingMemory& memory) {
  bool loads = false;
  PostOrderVisit(e, [&](const Expr& part) {
    const BufferLoad* load = part.As<BufferLoad>();
    loads = loads || (load != nullptr && memory.contains(load->buffer->data.get()));
  });
  return loads;
}

bool IsProductOrQuotientOfVars(const Binary& op) {
  switch (op.op) {
    case BinaryOp::kMul:
      return AsIntConst(op.a) == nullptr && AsIntConst(op.b) == nullptr;
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
    case BinaryOp::kDiv:
    case BinaryOp::kTruncMod:
      return AsIntConst(op.b) == nullptr;
    default:
      return false;
  }
}

bool IsUnknown(const Expr& e, const ChangingMemory& changing) {
  if (!e.dtype().is_scalar() || !e.dtype().is_signed_int()) return false;
  const Binary* op = e.As<Binary>();
  const Cast* cast = e.As<Cast>();
  const Expr& loaded = cast == nullptr ? e : cast->value;
  const bool is_unknown = op == nullptr ? loaded.As<BufferLoad>() != nullptr : IsProductOrQuotientOfVars(*op);
  return is_unknown && !LoadsFrom(e, changing);
}

const Unknown* FindUnknown(const std::vector<Unknown>& unknowns, const Expr& term) {
  const auto is_term = [&](const Unknown& unknown) { return SameExpr(unknown.term, term); };
  const auto found = std::find_if(unknowns.begin(), unknowns.end(), is_term);
  return found == unknowns.end() ? nullptr : &*found;
}

// Integer expressions and conditions in terms of the dimensions of one space. nullopt: not affine.
// `unknowns` may be used where all their variables are among the first `num_shared` dimensions.
class Affine {
 public:
  Affine(isl_ctx* ctx, unsigned num_dims, const Dims& dims, const std::vector<Unknown>& unknowns, unsigned num_shared,
         const ChangingMemory& changing, const Analyzer& analyzer)
      : space_(isl_space_set_alloc(ctx, 0, num_dims)),
        dims_(dims),
        unknowns_(unknowns),
        num_shared_(num_shared),
        changing_(changing),
        analyzer_(analyzer) {}
  ~Affine() { isl_space_free(space_); }
  Affine(const Affine&) = delete;
  Affine& operator=(const Affine&) = delete;

  isl::set Everything() const { return isl::manage(isl_set_universe(isl_space_copy(space_))); }
  isl::set Nothing() const { return isl::manage(isl_set_empty(isl_space_copy(space_))); }
  isl::pw_aff Dim(unsigned i) const {
    return isl::manage(isl_pw_aff_var_on_domain(isl_local_space_from_space(isl_space_copy(space_)), isl_dim_set, i));
  }
  isl::pw_aff Constant(int64_t value) const {
    isl_val* number = isl_val_int_from_si(isl_space_get_ctx(space_), value);
    return isl::manage(isl_pw_aff_val_on_domain(isl_set_universe(isl_space_copy(space_)), number));
  }

  std::optional<isl::pw_aff> Number(const Expr& e) const {
    if (const int64_t* value = AsIntConst(e)) return Constant(*value);
    if (!e.dtype().is_scalar() || !e.dtype().is_signed_int()) return std::nullopt;
    if (IsVar(e)) {
      const auto found = dims_.find(e.get());
      return found == dims_.end() ? std::nullopt : std::optional(Dim(found->second));
    }
    if (const Cast* cast = e.As<Cast>(); cast != nullptr && KeepsNumber(*cast, e.dtype())) return Number(cast->value);
    if (IsUnknown(e, changing_)) return ValueOfUnknown(e);
    if (const Binary* op = e.As<Binary>()) return NumberOf(*op);
    if (const Select* select = e.As<Select>())
      return Choice(select->condition, select->true_value, select->false_value);
    if (const Call* call = AsCall(e, "if_then_else")) return Choice(call->args[0], call->args[1], call->args[2]);
    return std::nullopt;
  }

  std::optional<isl::set> Holds(const Expr& e) const {
    if (const int64_t* value = AsIntConst(e)) return *value != 0 ? Everything() : Nothing();
    if (const Not* negation = e.As<Not>()) {
      const auto inner = Holds(negation->a);
      return inner ? std::optional(inner->complement()) : std::nullopt;
    }
    if (const Call* likely = AsCall(e, "likely")) return Holds(likely->args[0]);
    const Binary* op = e.As<Binary>();
    if (op == nullptr) return std::nullopt;
    if (op->op == BinaryOp::kAnd || op->op == BinaryOp::kOr) {
      const auto a = Holds(op->a), b = Holds(op->b);
      if (!a || !b) return std::nullopt;
      return op->op == BinaryOp::kAnd ? a->intersect(*b) : a->unite(*b);
    }
    const auto a = Number(op->a), b = Number(op->b);
    return a && b ? Compare(op->op, *a, *b) : std::nullopt;
  }

 private:
  static std::optional<isl::set> Compare(BinaryOp op, const isl::pw_aff& a, const isl::pw_aff& b) {
    switch (op) {
      case BinaryOp::kEQ:
        return a.eq_set(b);
      case BinaryOp::kNE:
        return a.ne_set(b);
      case BinaryOp::kLT:
        return a.lt_set(b);
      case BinaryOp::kLE:
        return a.le_set(b);
      case BinaryOp::kGT:
        return a.gt_set(b);
      case BinaryOp::kGE:
        return a.ge_set(b);
      default:
        return std::nullopt;
    }
  }
  // What is none where its loops run is a number: i % n of i below n.
  std::optional<isl::pw_aff> ValueOfUnknown(const Expr& e) const {
    const Expr simple = analyzer_.Simplify(e);
    if (!IsUnknown(simple, changing_)) return Number(simple);
    const Unknown* found = FindUnknown(unknowns_, simple);
    if (found == nullptr) return std::nullopt;
    bool is_shared = true;
    PostOrderVisit(e, [&](const Expr& part) {
      if (IsVar(part) && part.dtype().is_signed_int()) is_shared = is_shared && dims_.at(part.get()) < num_shared_;
    });
    return is_shared ? std::optional(Dim(found->dim)) : std::nullopt;
  }
  bool KeepsNumber(const Cast& cast, DataType type) const {
    if (!cast.value.dtype().is_signed_int()) return false;
    const IntBound held = TypeBound(type), value = analyzer_.ConstIntBound(cast.value);
    return value.Within(held.min, held.max);
  }
  std::optional<isl::pw_aff> Choice(const Expr& condition, const Expr& then, const Expr& other) const {
    const auto holds = Holds(condition);
    const auto a = Number(then), b = Number(other);
    if (!holds || !a || !b) return std::nullopt;
    return isl::manage(isl_pw_aff_cond(isl_set_indicator_function(holds->copy()), a->copy(), b->copy()));
  }
  std::optional<isl::pw_aff> NumberOf(const Binary& op) const {
    const auto a = Number(op.a), b = Number(op.b);
    if (!a || !b) return std::nullopt;
    switch (op.op) {
      case BinaryOp::kAdd:
        return a->add(*b);
      case BinaryOp::kSub:
        return a->sub(*b);
      case BinaryOp::kMin:
        return a->min(*b);
      case BinaryOp::kMax:
        return a->max(*b);
      case BinaryOp::kMul:
        return a->mul(*b);
      default:
        return Quotient(op, *a, *b);
    }
  }
  // a / -d is -a / d; what is left of it has the other sign where it takes the divisor's.
  static std::optional<isl::pw_aff> Quotient(const Binary& op, const isl::pw_aff& a, const isl::pw_aff& b) {
    const int64_t* divisor = AsIntConst(op.b);
    if (divisor == nullptr || *divisor == 0 || *divisor > INT32_MAX || *divisor < -INT32_MAX) return std::nullopt;
    const int64_t size = std::abs(*divisor);
    const isl::pw_aff by_positive = *divisor > 0 ? a : a.neg();
    switch (op.op) {
      case BinaryOp::kFloorDiv:
        return by_positive.scale_down(size).floor();
      case BinaryOp::kFloorMod:
        return *divisor > 0 ? by_positive.mod(size) : by_positive.mod(size).neg();
      case BinaryOp::kDiv:
        return a.tdiv_q(b);
      case BinaryOp::kTruncMod:
        return a.tdiv_r(b);
      default:
        return std::nullopt;
    }
  }

  isl_space* space_;
  const Dims& dims_;
  const std::vector<Unknown>& unknowns_;
  unsigned num_shared_;
  const ChangingMemory& changing_;
  const Analyzer& analyzer_;
};

// Whether the access goes by this condition, too.
bool GoesBy(const DataflowAccess& access, const DataflowCondition& condition) {
  return std::any_of(access.conditions.begin(), access.conditions.end(),
                     [&](const DataflowCondition& other) { return other.id == condition.id && other.id >= 0; });
}

// How a write may come before a read: in the same iteration of the first `num_equal` common loops, and in an earlier
// one of the next or, where there is none, earlier in the text.
struct Precedence {
  const DataflowSource* source;
  size_t num_equal;
};

// The instances of a read as a set whose dimensions are: variables that are no loops, the read's loops, what is not
// given by these of its element; and, while a write is looked at, its loops below those of which both are in one
// iteration.
class Question {
 public:
  Question(isl_ctx* ctx, const DataflowAccess& read, const std::vector<DataflowSource>& sources, size_t rank,
           const Analyzer& analyzer, const ChangingMemory& changing)
      : ctx_(ctx), read_(read), places_(rank), analyzer_(Analyzer::Under(analyzer)), changing_(changing) {
    std::unordered_set<const ExprNode*> of_read;
    for (const DataflowLoop& loop : read.loops)
      if (of_read.insert(loop.var.get()).second) analyzer_.Bind(loop.var, loop.range);
    std::unordered_set<const ExprNode*> loops = of_read;
    for (const DataflowSource& source : sources) {
      Analyzer& facts = facts_.emplace(&source, Analyzer::Under(analyzer_)).first->second;
      for (const DataflowLoop& loop : source.write.loops) {
        loops.insert(loop.var.get());
        if (!of_read.contains(loop.var.get())) facts.Bind(loop.var, loop.range);
      }
    }
    ForEachPart(sources, [&](const Expr& part) {
      if (IsVar(part) && part.dtype().is_signed_int() && !loops.contains(part.get()) &&
          dims_.emplace(part.get(), outer_.size()).second)
        outer_.push_back(part);
    });
    num_dims_ = static_cast<unsigned>(outer_.size());
    for (const DataflowLoop& loop : read.loops) dims_.emplace(loop.var.get(), num_dims_++);
    ForEachPart(sources, [&](const Expr& part) {
      if (!IsUnknown(part, changing) || !IsOfRead(part)) return;
      const Expr simple = analyzer_.Simplify(part);
      if (IsUnknown(simple, changing) && FindUnknown(unknowns_, simple) == nullptr)
        unknowns_.push_back({simple, num_dims_++});
    });
    const Affine affine = OfRead(num_dims_);
    for (size_t d = 0; d < rank; ++d) {
      const bool is_given = IsConstInt(read.region[d].extent, 1) && affine.Number(read.region[d].min);
      if (!is_given) places_[d] = num_dims_++;
    }
  }

  isl::set Reads(const std::vector<Range>& full) const {
    const Affine affine = OfRead(num_dims_);
    isl::set instances = affine.Everything();
    const auto restrict_to = [&](const std::optional<isl::set>& part) {
      if (part) instances = instances.intersect(*part);
    };
    const auto keep_in_bounds = [&](unsigned dim, const Expr& value) {
      const IntBound bound = analyzer_.ConstIntBound(value);
      if (bound.min != IntBound::kNegInf) restrict_to(affine.Dim(dim).ge_set(affine.Constant(bound.min)));
      if (bound.max != IntBound::kPosInf) restrict_to(affine.Dim(dim).le_set(affine.Constant(bound.max)));
    };
    for (size_t i = 0; i < outer_.size(); ++i) keep_in_bounds(i, outer_[i]);
    for (const Unknown& unknown : unknowns_) keep_in_bounds(unknown.dim, unknown.term);
    for (size_t i = 0; i < read_.loops.size(); ++i)
      AddRange(affine, affine.Dim(outer_.size() + i), read_.loops[i].range, restrict_to);
    for (const DataflowCondition& condition : read_.conditions)
      for (const Expr& conjunct : ConjunctsOf(condition.says)) restrict_to(affine.Holds(conjunct));
    for (size_t d = 0; d < places_.size(); ++d) {
      AddRange(affine, Element(affine, d), full[d], restrict_to);
      if (places_[d]) AddRange(affine, Element(affine, d), read_.region[d], restrict_to);
    }
    return instances;
  }

  // The ways in which the write may come first: there is none where a condition on it is not known.
  std::vector<Precedence> WaysToPrecede(const DataflowSource& source) const {
    const Dims dims = AllDims(source, source.num_same);
    const Affine affine = OfWrite(source, num_dims_ + static_cast<unsigned>(source.write.loops.size()), dims);
    size_t num_equal = source.num_same;
    for (const DataflowCondition& condition : source.write.conditions) {
      if (affine.Holds(condition.says)) continue;
      if (!GoesBy(read_, condition)) return {};
      num_equal = std::max(num_equal, condition.num_loops);
    }
    std::vector<Precedence> ways;
    if (source.is_before) ways.push_back({&source, source.num_common});
    for (size_t i = source.num_common; i-- > num_equal;)
      if (read_.loops[i].is_in_order) ways.push_back({&source, i});
    return ways;
  }

  // The instances that find what was written so; none where that is not known.
  isl::set Provided(const Precedence& way) const {
    const DataflowSource& source = *way.source;
    const DataflowAccess& write = source.write;
    const unsigned num_own = static_cast<unsigned>(write.loops.size() - way.num_equal);
    const Dims dims = AllDims(source, way.num_equal);
    const Affine affine = OfWrite(source, num_dims_ + num_own, dims), of_read = OfRead(num_dims_ + num_own);
    isl::set instances = affine.Everything();
    bool is_known = true;
    const auto restrict_to = [&](const std::optional<isl::set>& part) {
      is_known = is_known && part;
      if (is_known) instances = instances.intersect(*part);
    };
    for (size_t i = 0; i < num_own; ++i)
      AddRange(affine, affine.Dim(num_dims_ + i), write.loops[way.num_equal + i].range, restrict_to);
    for (size_t d = 0; d < places_.size(); ++d) AddRange(affine, Element(of_read, d), write.region[d], restrict_to);
    for (const DataflowCondition& condition : write.conditions)
      if (const auto holds = affine.Holds(condition.says)) restrict_to(holds);
    if (way.num_equal < source.num_common)
      restrict_to(affine.Dim(num_dims_).lt_set(affine.Dim(outer_.size() + way.num_equal)));
    instances = isl::manage(isl_set_project_out(instances.release(), isl_dim_set, num_dims_, num_own));
    return is_known ? instances : isl::set::empty(instances.space());
  }

 private:
  Affine OfRead(unsigned num_dims) const { return {ctx_, num_dims, dims_, unknowns_, num_dims, changing_, analyzer_}; }
  Affine OfWrite(const DataflowSource& source, unsigned num_dims, const Dims& dims) const {
    return {ctx_, num_dims, dims, unknowns_, num_dims_, changing_, facts_.at(&source)};
  }
  bool IsOfRead(const Expr& e) const {
    bool is_known = true;
    PostOrderVisit(e, [&](const Expr& part) { is_known = is_known && (!IsVar(part) || dims_.contains(part.get())); });
    return is_known;
  }
  template <typename F>
  void ForEachPart(const std::vector<DataflowSource>& sources, F f) const {
    const auto visit = [&](const DataflowAccess& access) {
      for (const Range& range : access.region) PostOrderVisit(range.min, f), PostOrderVisit(range.extent, f);
      for (const DataflowLoop& loop : access.loops)
        PostOrderVisit(loop.range.min, f), PostOrderVisit(loop.range.extent, f);
      for (const DataflowCondition& condition : access.conditions) PostOrderVisit(condition.says, f);
    };
    visit(read_);
    for (const DataflowSource& source : sources) visit(source.write);
  }
  template <typename F>
  static void AddRange(const Affine& affine, const isl::pw_aff& value, const Range& range, F restrict_to) {
    const auto min = affine.Number(range.min), extent = affine.Number(range.extent);
    if (min && IsConstInt(range.extent, 1)) return restrict_to(value.eq_set(*min));
    restrict_to(min ? std::optional(value.ge_set(*min)) : std::nullopt);
    restrict_to(min && extent ? std::optional(value.lt_set(min->add(*extent))) : std::nullopt);
  }
  // The element's index of dimension `d`; `affine` is in terms of the read's loops.
  isl::pw_aff Element(const Affine& affine, size_t d) const {
    return places_[d] ? affine.Dim(*places_[d]) : *affine.Number(read_.region[d].min);
  }
  // Of the write, too, whose first `num_equal` loops are in the iteration of the read.
  Dims AllDims(const DataflowSource& source, size_t num_equal) const {
    Dims dims = dims_;
    for (size_t i = num_equal; i < source.write.loops.size(); ++i)
      dims.insert_or_assign(source.write.loops[i].var.get(), num_dims_ + static_cast<unsigned>(i - num_equal));
    return dims;
  }

  isl_ctx* ctx_;
  const DataflowAccess& read_;
  std::vector<std::optional<unsigned>> places_;  // Per dimension of the buffer; nullopt: the loops give the index.
  Analyzer analyzer_;                            // Knows the read's loops, too.
  const ChangingMemory& changing_;
  // Within a write's loops, which may not run where the read does.
  std::unordered_map<const DataflowSource*, Analyzer> facts_;
  std::vector<Expr> outer_;  // Variables that are no loops.
  std::vector<Unknown> unknowns_;
  Dims dims_;
  unsigned num_dims_ = 0;
};

struct FreeContext {
  void operator()(isl_ctx* ctx) const { isl_ctx_free(ctx); }
};

// Inside one iteration of the common loops, in which the conditions that both go by hold.
GuardedAccess InsideOf(const DataflowAccess& access, const DataflowAccess& other, size_t num_common) {
  GuardedAccess inside{.region = access.region, .loops = {}};
  for (size_t i = num_common; i < access.loops.size(); ++i)
    inside.loops.emplace_back(access.loops[i].var, access.loops[i].range);
  for (const DataflowCondition& condition : access.conditions) {
    const bool is_shared = condition.num_loops <= num_common && GoesBy(other, condition);
    if (!is_shared) inside.predicate = And(inside.predicate, condition.says);
  }
  return inside;
}

// A cheap answer for most of tuned programs, whose sets of tiles within tiles are costly: a box that one write fills
// in the same iteration covers all that is read in it.
bool IsInBoxWritten(const DataflowAccess& read, const DataflowSource& source, const std::vector<Range>& full,
                    const Analyzer& analyzer) {
  if (!source.is_before) return false;
  Analyzer inside = Analyzer::Under(analyzer);
  for (size_t i = 0; i < source.num_common; ++i) inside.Bind(read.loops[i].var, read.loops[i].range);
  const auto written = TouchedForCertain(InsideOf(source.write, read, source.num_common), inside);
  return written &&
         Covers(*written, TouchedAtMost(InsideOf(read, source.write, source.num_common), full, inside), full, inside);
}

}  // namespace

bool IsAlwaysWritten(const DataflowAccess& read, const std::vector<DataflowSource>& sources,
                     const std::vector<Range>& full, const Analyzer& analyzer, const ChangingMemory& changing) {
  if (std::any_of(sources.begin(), sources.end(),
                  [&](const DataflowSource& source) { return IsInBoxWritten(read, source, full, analyzer); }))
    return true;
  const std::unique_ptr<isl_ctx, FreeContext> ctx(isl_ctx_alloc());
  isl_options_set_on_error(ctx.get(), ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(ctx.get(), kMaxOperations);
  try {
    const Question question(ctx.get(), read, sources, full.size(), analyzer, changing);
    isl::set left = question.Reads(full);
    std::vector<Precedence> ways;
    for (const DataflowSource& source : sources)
      for (const Precedence& way : question.WaysToPrecede(source)) ways.push_back(way);
    std::stable_partition(ways.begin(), ways.end(),
                          [](const Precedence& way) { return way.num_equal == way.source->num_common; });
    for (const Precedence& way : ways) {
      if (left.is_empty()) return true;
      left = left.subtract(question.Provided(way));
    }
    return left.is_empty();
  } catch (const isl::exception&) {  // Too many steps.
    return false;
  }
}

}  // namespace lathe
