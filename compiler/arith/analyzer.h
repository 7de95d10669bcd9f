// What is known about integer variables, and what follows from it: bounds, remainders, simplified expressions, proofs.
//
// Index arithmetic (int32 and int64 scalars) is taken to stay within its type, as in TVM. Narrower and unsigned
// integers wrap, so only constants are folded there; floating point is never touched.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe {

struct LinearForm;

// Every value lies in [min, max]. kNegInf and kPosInf stand for "unbounded"; arithmetic saturates there.
struct IntBound {
  static constexpr int64_t kNegInf = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kPosInf = std::numeric_limits<int64_t>::max();
  int64_t min = kNegInf, max = kPosInf;

  bool is_const() const { return min == max; }
  bool Contains(int64_t value) const { return min <= value && value <= max; }
  bool Within(int64_t low, int64_t high) const { return low <= min && max <= high; }  // Both ends included.
  bool operator==(const IntBound&) const = default;
};

// Every value is coeff * k + base for some integer k, with 0 <= base < coeff; or coeff == 0 and the value is base.
struct ModularSet {
  int64_t coeff = 1, base = 0;
  bool operator==(const ModularSet&) const = default;
};

// A value: copies are independent and cost one copy of each bound variable's facts. Not thread-safe while facts are
// added; const calls may run at once.
class Analyzer {
 public:
  // From now on `var` lies in `range`. A later Bind of the same variable replaces its facts and drops those that
  // mention it. An extent of 1 makes it equal to the min.
  void Bind(const Var& var, const Range& range);
  // From now on Simplify replaces `var` by `value`.
  void Bind(const Var& var, const Expr& value);
  // From now on `condition` holds. To undo it later use WithConstraint.
  void Assume(const Expr& condition);

  IntBound ConstIntBound(const Expr& e) const;
  ModularSet Modular(const Expr& e) const;

  // The canonical form: a sum of constant multiples of variables, of (x // c % m) and of what cannot be taken apart,
  // then the constant; terms stay in order of appearance. Equal at every point that the facts allow; the same handle
  // where nothing changed; Simplify of the result is itself. Division by zero is left alone. Below floats, loads and
  // calls the integer parts are simplified.
  Expr Simplify(const Expr& e) const;

  // True: `condition` holds wherever the facts do. False: not known.
  bool CanProve(const Expr& condition) const;
  bool CanProveEqual(const Expr& a, const Expr& b) const;
  bool CanProveLess(const Expr& e, int64_t bound) const;          // e < bound
  bool CanProveGreaterEqual(const Expr& e, int64_t bound) const;  // e >= bound

 private:
  friend class Canonicalizer;
  friend class WithConstraint;
  struct VarFacts {
    Var var;
    IntBound bound;
    ModularSet modular;
    std::shared_ptr<const LinearForm> value;  // What the variable equals, if known.
  };
  const VarFacts* Find(const ExprNode* var) const;
  VarFacts& FactsOf(const Var& var);
  VarFacts& ForgetFactsOf(const Var& var);
  void AssumeNonNegative(const LinearForm& form);

  std::vector<VarFacts> vars_;
  std::vector<std::shared_ptr<const LinearForm>>
      non_negative_;  // Known to be >= 0; the ends of ranges that are no constants, too.
};

// While it lives, `condition` holds in `analyzer`. Guards end in the reverse order of their beginning, as scopes do.
class WithConstraint {
 public:
  WithConstraint(Analyzer& analyzer, const Expr& condition);
  ~WithConstraint();
  WithConstraint(const WithConstraint&) = delete;
  WithConstraint& operator=(const WithConstraint&) = delete;

 private:
  Analyzer& analyzer_;
  std::vector<Analyzer::VarFacts> saved_vars_;
  std::vector<std::shared_ptr<const LinearForm>> saved_non_negative_;
};

}  // namespace lathe
