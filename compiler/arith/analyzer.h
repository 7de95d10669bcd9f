// What is known about integer variables, and what follows from it: bounds, remainders, simplified expressions, proofs.
//
// Index arithmetic (int32 and int64 scalars) is taken to stay within its type, as in TVM. Narrower and unsigned
// integers wrap, so only constants are folded there; floating point is never touched.
#pragma once

#include <cstdint>

#include "compiler/arith/facts.h"
#include "compiler/ir/stmt.h"

namespace lathe {

// A value: copies are independent. Not thread-safe while facts are added; const calls may run at once.
//
// What is learnt inside a loop, a branch or a block is learnt in a FactScope. Bind and Assume without one are for facts
// that hold as long as the analyzer lives.
class Analyzer {
 public:
  Analyzer() = default;
  // Knows what `outer` knows, at no cost; what it learns stays here. `outer` outlives it and learns nothing meanwhile.
  static Analyzer Under(const Analyzer& outer) { return Analyzer(&outer.facts_); }

  // From now on `var` lies in `range`. A later Bind of the same variable replaces its facts and drops those that
  // mention it. An extent of 1 makes it equal to the min.
  void Bind(const Var& var, const Range& range);
  // From now on Simplify replaces `var` by `value`.
  void Bind(const Var& var, const Expr& value);
  // From now on what is known of `var` is `bound`, `modular`, and nothing else of its kind. Of index variables.
  void Update(const Var& var, IntBound bound);
  void Update(const Var& var, ModularSet modular);
  // From now on `condition` holds.
  void Assume(const Expr& condition);

  bool Knows(const Var& var) const { return facts_.Find(var.get()) != nullptr; }
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
  friend class FactScope;
  explicit Analyzer(const Facts* outer) : facts_(outer) {}

  Facts facts_;
};

// While it lives, `analyzer` may learn more; its end forgets what was learnt since its beginning. Scopes end in the
// reverse order of their beginning.
class FactScope {
 public:
  explicit FactScope(Analyzer& analyzer) : scope_(analyzer.facts_) {}
  FactScope(Analyzer& analyzer, const Var& var, const Range& range) : FactScope(analyzer) { analyzer.Bind(var, range); }
  FactScope(Analyzer& analyzer, const Expr& condition) : FactScope(analyzer) { analyzer.Assume(condition); }

 private:
  const Facts::Scope scope_;
};

}  // namespace lathe
