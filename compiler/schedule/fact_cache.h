// What has been asked about the scopes and blocks of a schedule, kept until a replacement touches what it rests on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "compiler/schedule/block_scope.h"
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
  bool KnowsScope(int row) const {
    return std::any_of(scopes_.begin(), scopes_.end(), [&](const Kept& kept) { return kept.row == row; });
  }

  // What a replacement may have to forget, seen before and after it.
  struct Outline {
    int scope = -1;                                   // The block around; -1: there is none.
    std::vector<std::pair<int, const void*>> blocks;  // Rows and keys at or below, not inside of others.
  };
  static Outline OutlineOf(const RowTable& rows, const std::vector<int>& tops, int scope);
  // Row `replaced` became what `changes` says. `before` is its outline from before; `is_bare`: there was or is
  // something outside of blocks there that touches memory.
  void Forget(const RowTable& rows, int replaced, const RowTable::Changes& changes, const Outline& before,
              bool is_bare);

 private:
  enum class Answer : uint8_t { kUnknown, kNo, kYes };
  struct Known {
    Answer answers[2] = {Answer::kUnknown, Answer::kUnknown};
  };
  struct Kept {
    int row;
    std::shared_ptr<const BlockScope> scope;
  };
  void ForgetScope(int row);
  void ForgetAnswer(Fact fact, int row);
  void ForgetReaders(const RowTable& rows, int scope, const std::vector<const ExprNode*>& written);

  std::vector<Known> known_;  // By row.
  std::vector<Kept> scopes_;
};

}  // namespace lathe
