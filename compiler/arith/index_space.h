// Index expressions as sums over loops, cheap enough to be made thousands of times a second: where neighbours of a
// block lie, what a loop touches. Unlike the simplifier's LinearForm it makes no expressions, and it has a form for
// everything: what is no sum of loops, quotients and remainders by constants is taken to be anywhere.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe {

struct IndexTerm {
  int id;
  int64_t coeff;
};
// constant + sum of coeff * term; terms by id, each once.
struct AffineForm {
  int64_t constant = 0;
  boost::container::small_vector<IndexTerm, 4> terms;
};
struct IndexInterval {
  int64_t low = 0, high = 0;
};  // Both included.

// The loops of one function and what is made of them. Which loops run decides what an index covers: the others stand at
// their first value.
class IndexSpace {
 public:
  // A loop from 0 to `extent`, at least 1; its id.
  int AddLoop(const Var& var, int64_t extent);
  // From now on `var` stands for `value`.
  void Bind(const Var& var, const Expr& value);
  // Loops from 0 for the iter vars of a block that is looked at alone, in their order; extents that are not constant
  // count as 1.
  std::vector<int> AddIters(const BlockNode& block);

  int64_t Extent(int loop) const { return terms_[loop].extent; }
  // An estimate. Variables that are neither loops nor bound count as constants, a clamp moves with what it clamps.
  AffineForm Parse(const Expr& e);
  // A form that has the value of `e` wherever all loops are inside their extents; nullopt where Parse estimates.
  std::optional<AffineForm> ParseExactly(const Expr& e);
  // Elements from the buffer's beginning to that of the region, exactly; nullopt also where the shape is symbolic or
  // the buffer has strides.
  std::optional<AffineForm> FlatPlace(const BufferRegion& region);
  // Values of `form` while the loops of `running` take all their values. Loops beyond the 64th share the bit of the
  // 64th.
  IndexInterval Cover(const AffineForm& form, uint64_t running) const;
  // `form` with `loop` at `value` and every other loop at 0.
  int64_t At(const AffineForm& form, int loop, int64_t value) const;
  // The loops that `form` depends on.
  uint64_t LoopsOf(const AffineForm& form) const;
  static uint64_t Bit(int loop_number) { return uint64_t{1} << (loop_number < 63 ? loop_number : 63); }
  uint64_t BitOf(int loop) const { return terms_[loop].loops; }

 private:
  enum class Kind : uint8_t { kLoop, kDiv, kMod, kUnknown };
  struct Term {
    Kind kind;
    int64_t extent = 1;  // Of a loop; the divisor of a quotient or remainder.
    uint64_t loops = 0;
    AffineForm inner;  // What is divided.
  };
  struct Known {
    const ExprNode* var;
    AffineForm form;
    bool is_exact = true;
  };
  void Know(const Var& var, AffineForm form, bool is_exact);
  const Known* Find(const Expr& var) const;
  AffineForm OfTerm(int id) const { return {0, {{id, 1}}}; }
  AffineForm Divide(const AffineForm& form, int64_t divisor, bool want_quotient);
  AffineForm Unknown(uint64_t loops);
  IndexInterval CoverTerm(const Term& term, uint64_t running) const;
  int64_t TermAt(int id, int loop, int64_t value) const;

  std::vector<Term> terms_;
  int num_loops_ = 0;
  bool is_exact_ = true;     // Nothing was estimated since it was set.
  std::vector<Known> vars_;  // The last one of a variable counts. A function has dozens, most are asked for soon.
};

}  // namespace lathe
