// One job's search in another process, as its coordinator sees it: what was asked and is not answered yet, what the
// process is told when it has to begin anew, and when nobody tries again. Pure: no thread, socket or store; not
// thread-safe.
//
// A search has no state of its own that the database does not have: a fresh process that prepares the same tasks knows
// what was measured. So when one dies, the next is told what was prepared and gets what was not answered; what the dead
// one had proposed was in the store before it could say so, and counts as its answer. A job whose search dies twice is
// broken: it would kill the third as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "proto/lathe/v1/search.pb.h"
#include "support/status.h"
#include "tuner/job/job_searcher.h"

namespace lathe {

inline constexpr int kMostSearchDeaths = 2;

struct SearchHasPrepared {
  size_t task;
  StatusOr<PreparedTask> answer;
};
struct SearchHasProposed {
  size_t task;
  StatusOr<std::vector<ProposedTrial>> answer;
};
struct SearchHasFinalists {
  size_t task;
  StatusOr<PreparedFinals> answer;
};
struct SearchIsBusy {
  bool is_busy;
};
using SearchEvent = std::variant<SearchHasPrepared, SearchHasProposed, SearchHasFinalists, SearchIsBusy>;

class SearchSession {
 public:
  explicit SearchSession(v1::SearchBegin begin) : begin_(std::move(begin)) {}

  // What a process is told that has just begun.
  std::vector<v1::SearchRequest> Begin();

  // What it is told when the core asks; to be sent unless the session is broken.
  v1::SearchRequest Prepare(size_t task);
  v1::SearchRequest Propose(size_t task, int count);
  v1::SearchRequest ChooseFinalists(size_t task);
  v1::SearchRequest Distrust(size_t task);

  // The store has taken these of what the process proposes for a task.
  void Proposed(size_t task, const ProposedTrial& trial) { proposed_[task].push_back(trial); }

  // What it answered; not for SearchStore. InvalidArgument: nobody asked, or it cannot be; the process is to be ended.
  StatusOr<std::vector<SearchEvent>> Take(const v1::SearchAnswer& answer);

  // It ended, `how` in words. What was answered by that.
  std::vector<SearchEvent> Ended(const std::string& how);
  bool is_broken() const { return deaths_ >= kMostSearchDeaths; }
  Status WhyBroken() const;

 private:
  enum class Kind { kPrepare, kPropose, kChooseFinalists };
  struct Asked {
    Kind kind;
    size_t task;
    int count = 0;
  };
  static v1::SearchRequest ToRequest(const Asked& asked);
  v1::SearchRequest Ask(Asked asked);
  // Forgets that it was asked; false: it was not.
  bool Answered(Kind kind, uint32_t task);
  StatusOr<std::vector<SearchEvent>> TakePrepared(const v1::SearchPrepared& message);

  const v1::SearchBegin begin_;
  std::deque<Asked> asked_;    // Not answered, oldest first.
  std::set<size_t> prepared_;  // Tasks that the process has to know.
  std::set<size_t> repeated_;  // Of these, those whose preparation was answered by a process before this one.
  std::set<size_t> distrusted_;
  std::map<size_t, std::vector<ProposedTrial>> proposed_;  // By task, since its last answer.
  bool is_busy_ = false;
  int deaths_ = 0;
  std::string how_;  // The last one ended.
};

}  // namespace lathe
