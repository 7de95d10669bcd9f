// What has been asked about the scopes and blocks of a schedule, kept until a replacement touches what it rests on.
#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compiler/schedule/block_scope.h"
#include "compiler/schedule/memory_uses.h"
#include "compiler/schedule/nest_numbers.h"
#include "compiler/schedule/row_table.h"

namespace lathe {

class FactCache {
 public:
  enum class Fact : uint8_t { kAffineBinding, kRegionCover };

  // The fact about block `row`, from `compute` if it is not known.
  template <typename F>
  bool Get(Fact fact, int row, F compute) {
    if (static_cast<int>(known_.size()) <= row) known_.resize(row + 1);
    Answer& answer = known_[row].answers[static_cast<int>(fact)];
    if (answer == Answer::kUnknown) answer = compute() ? Answer::kYes : Answer::kNo;
    return answer == Answer::kYes;
  }
  // The scope of block `row`; lives until the next Forget or the end of all copies of the cache.
  const BlockScope& Scope(const Schedule& schedule, int row);
  // Of block `row`; nullptr if its loops are no chain of constants. Lives until it is asked for again.
  const NestNumbers* Numbers(const Schedule& schedule, int row);
  // How all at or below `row` uses memory. Lives until it is asked for again.
  const MemoryUses& Uses(const RowTable& rows, int row, const Stmt& stmt);
  bool KnowsScope(int row) const {
    return std::any_of(scopes_.begin(), scopes_.end(),
                       [&](const Kept& kept) { return kept.row == row && !kept.is_stale; });
  }
  // The first row of which what is kept is not what would be found now; -1: there is none. For tests.
  int WrongScope(const Schedule& schedule) const;

  // What a replacement may have to forget, seen before and after it.
  struct Outline {
    int scope = -1;  // The block around; -1: there is none.
    boost::container::small_vector<std::pair<int, const void*>, 8>
        blocks;  // Rows and keys at or below, not inside of others.
  };
  static Outline OutlineOf(const RowTable& rows, std::span<const int> tops, int scope);
  // Row `replaced` became what `changes` says. `before` is its outline from before; `is_bare`: there was or is
  // something outside of blocks there that touches memory.
  void Forget(const RowTable& rows, int replaced, const RowTable::Changes& changes, const Outline& before,
              bool is_bare);
  // A child of block `scope` touches something else than before, which no region says.
  void ForgetScopeAndCovers(const RowTable& rows, int scope);

 private:
  enum class Answer : uint8_t { kUnknown, kNo, kYes };
  struct Known {
    Answer answers[2] = {Answer::kUnknown, Answer::kUnknown};
  };
  struct Kept {
    int row;
    std::shared_ptr<const BlockScope> scope;
    bool is_stale = false;  // Of use only for making the next one.
  };
  void ForgetScope(int row);
  void ForgetAnswer(Fact fact, int row);
  using Memories = boost::container::small_vector<const ExprNode*, 16>;
  void ForgetReaders(const RowTable& rows, int scope, const Memories& written);
  void ForgetBelowViews(const RowTable& rows, const RowTable::Changes& changes);
  static void NoteWrites(const StmtNode* node, Memories& written);

  std::vector<Known> known_;  // By row.
  std::vector<Kept> scopes_;
  std::vector<std::shared_ptr<const NestNumbers>> numbers_;  // By row; whether they still hold is asked on each use.
  std::vector<std::shared_ptr<const MemoryUses>> uses_;      // The same.
};

}  // namespace lathe
