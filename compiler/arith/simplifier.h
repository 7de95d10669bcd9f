// Simplification in the forms that programs written for TVM compare with.
//
// Analyzer proves, and has one canonical form of its own; schedules and passes that only ask use it. Simplifier knows
// what its analyzer knows, and conditions literally besides: one simplification rewrites by a table of rules
// (compiler/arith/rule_table.cc), the other takes sums apart and puts them together again.
#pragma once

#include <vector>

#include "compiler/arith/analyzer.h"

namespace lathe {

// What a Simplifier does besides, each off by default. Names are those of TVM's configuration of Simplify.
struct SimplifyExtensions {
  bool transitively_prove_inequalities = false;        // Known inequalities are chained.
  bool convert_boolean_to_and_of_ors = false;          // Conditions become conjunctions of disjunctions.
  bool apply_constraints_to_boolean_branches = false;  // Each side of && and || is simplified by what the other says.
};

// A value. Not thread-safe.
class Simplifier {
 public:
  explicit Simplifier(SimplifyExtensions extensions = {}) : extensions_(extensions) {}

  // As Analyzer's; a range of one value, and a value, take the variable's place.
  void Bind(const Var& var, const Range& range);
  void Bind(const Var& var, const Expr& value);
  void Assume(const Expr& condition);

  // Equal at every point that the facts allow; the same handle where nothing changed.
  Expr RewriteSimplify(const Expr& e);
  Expr CanonicalSimplify(const Expr& e);
  Expr Simplify(const Expr& e, int steps = 2);  // Canonical once, then rewrite and canonical in turn.

  bool CanProve(const Expr& condition);
  bool CanProveEqual(const Expr& a, const Expr& b);

  Analyzer& analyzer() { return analyzer_; }
  const SimplifyExtensions& extensions() const { return extensions_; }
  void set_extensions(SimplifyExtensions extensions) { extensions_ = extensions; }
  // Conditions that hold, each simplified, and, negated, what does not hold.
  const std::vector<Expr>& literals() const { return literals_; }
  // Comparisons of bound variables with the ends of their ranges; none where inequalities are not chained.
  const std::vector<Expr>& ranges() const { return ranges_; }
  const Expr* ValueOf(const ExprNode* var) const;  // nullptr: none.

  // Its end forgets what was learnt since its beginning.
  class Scope {
   public:
    explicit Scope(Simplifier& simplifier)
        : simplifier_(simplifier),
          facts_(simplifier.analyzer_),
          num_literals_(simplifier.literals_.size()),
          num_ranges_(simplifier.ranges_.size()),
          num_values_(simplifier.values_.size()) {}
    Scope(Simplifier& simplifier, const Expr& condition) : Scope(simplifier) { simplifier.Assume(condition); }
    Scope(Simplifier& simplifier, const Var& var, const Range& range) : Scope(simplifier) {
      simplifier.Bind(var, range);
    }
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Simplifier& simplifier_;
    const FactScope facts_;
    const size_t num_literals_, num_ranges_, num_values_;
  };

 private:
  Analyzer analyzer_;
  SimplifyExtensions extensions_;
  std::vector<Expr> literals_;
  std::vector<Expr> ranges_;
  std::vector<std::pair<Var, Expr>> values_;
};

}  // namespace lathe
