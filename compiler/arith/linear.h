// The canonical form that the simplifier works on: a constant plus constant multiples of splits (source % upper) //
// lower.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>

#include "compiler/arith/bounds.h"
#include "compiler/ir/expr.h"

namespace lathe {

inline constexpr int64_t kNoUpper = 0;

// ((source % upper) // lower) * scale. `source` is a variable or an expression that cannot be taken apart.
struct Term {
  Expr source;
  int64_t scale = 1;
  int64_t lower = 1;         // > 0
  int64_t upper = kNoUpper;  // A multiple of lower; kNoUpper: no modulo.
  IntBound source_bound;

  bool is_whole() const { return lower == 1 && upper == kNoUpper; }
};
IntBound UnscaledBound(const Term& term);

struct LinearForm {
  boost::container::small_vector<Term, 4> terms;  // No two alike, no scale is 0; order of first appearance.
  int64_t constant = 0;
  bool has_overflowed = false;  // A coefficient left int64: the form means nothing.

  bool is_const() const { return terms.empty() && !has_overflowed; }
  bool IsZero() const { return is_const() && constant == 0; }
  // Returns the place of a term whose pieces have become a whole sum again, which the caller has to expand.
  std::optional<size_t> Add(Term term);
  void AddConstant(int64_t value);
  void Scale(int64_t factor);
};

// a + factor * b, merging like terms only.
LinearForm Combine(const LinearForm& a, const LinearForm& b, int64_t factor);
IntBound BoundOf(const LinearForm& form);
int64_t GcdOfScales(const LinearForm& form);  // 0 without terms.
// Whether all constants of the form can be written in `type`.
bool FitsIn(const LinearForm& form, DataType type);
Expr TermToExpr(const Term& term, DataType type);  // Without the scale.
Expr FormToExpr(const LinearForm& form, DataType type);

// An expression as a constant times factors that are no products.
struct Product {
  int64_t constant = 1;
  boost::container::small_vector<Expr, 4> factors;
};
std::optional<Product> ToProduct(const Expr& e);  // nullopt: the constant overflows.
// a / b, if b divides a.
std::optional<Product> DivideExactly(Product a, const Product& b);
Expr ProductToExpr(const Product& product, DataType type);

// Equal as trees; free variables by identity. Quick for index arithmetic.
bool SameExpr(const Expr& a, const Expr& b);
// The parts of a conjunction, in order; of anything else, itself.
std::vector<Expr> ConjunctsOf(const Expr& condition);
// int32 and int64 scalars: what has a linear form.
inline bool IsIndexType(DataType type) { return type.is_signed_int() && type.is_scalar() && type.bits >= 32; }
// An index in another such type; a constant that fits becomes one of it.
Expr CastIndex(DataType type, const Expr& index);

// x and y of min(x, y) (op kMin) or max(x, y) (kMax), also with a constant added; `e` itself where it is none.
std::vector<Expr> PartsOf(const Expr& e, BinaryOp op);

}  // namespace lathe
