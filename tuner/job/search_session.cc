#include "tuner/job/search_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/status_macros.h"
#include "tuner/job/search_messages.h"

namespace lathe {
namespace {

Status NotAsked(const char* what, uint32_t task) {
  return InvalidArgument(fmt::format("read a search's message: {} of task {}, which nobody asked for", what, task));
}

}  // namespace

v1::SearchRequest SearchSession::ToRequest(const Asked& asked) {
  v1::SearchRequest request;
  const auto task = static_cast<uint32_t>(asked.task);
  switch (asked.kind) {
    case Kind::kPrepare:
      request.mutable_prepare()->set_task(task);
      break;
    case Kind::kPropose:
      request.mutable_propose()->set_task(task);
      request.mutable_propose()->set_count(asked.count);
      break;
    case Kind::kChooseFinalists:
      request.mutable_choose_finalists()->set_task(task);
      break;
  }
  return request;
}

v1::SearchRequest SearchSession::Ask(Asked asked) {
  asked_.push_back(asked);
  return ToRequest(asked);
}

v1::SearchRequest SearchSession::Prepare(size_t task) { return Ask({Kind::kPrepare, task}); }
v1::SearchRequest SearchSession::Propose(size_t task, int count) { return Ask({Kind::kPropose, task, count}); }
v1::SearchRequest SearchSession::ChooseFinalists(size_t task) { return Ask({Kind::kChooseFinalists, task}); }

v1::SearchRequest SearchSession::Distrust(size_t task) {
  distrusted_.insert(task);
  prepared_.erase(task);
  v1::SearchRequest request;
  request.mutable_distrust()->set_task(static_cast<uint32_t>(task));
  return request;
}

std::vector<v1::SearchRequest> SearchSession::Begin() {
  std::vector<v1::SearchRequest> requests(1);
  *requests[0].mutable_begin() = begin_;
  for (const size_t task : distrusted_) {
    v1::SearchRequest& request = requests.emplace_back();
    request.mutable_distrust()->set_task(static_cast<uint32_t>(task));
  }
  repeated_ = prepared_;
  for (const size_t task : prepared_) requests.push_back(ToRequest({Kind::kPrepare, task}));
  for (const Asked& asked : asked_) requests.push_back(ToRequest(asked));
  return requests;
}

bool SearchSession::Answered(Kind kind, uint32_t task) {
  const auto asked =
      std::ranges::find_if(asked_, [&](const Asked& each) { return each.kind == kind && each.task == task; });
  if (asked == asked_.end()) return false;
  asked_.erase(asked);
  return true;
}

StatusOr<std::vector<SearchEvent>> SearchSession::TakePrepared(const v1::SearchPrepared& message) {
  const size_t task = message.task();
  ASSIGN_OR_RETURN(StatusOr<PreparedTask> answer, FromMessage(message));
  if (repeated_.erase(task) > 0) {
    if (answer.ok()) return std::vector<SearchEvent>();
  } else if (!Answered(Kind::kPrepare, message.task())) {
    return NotAsked("what was prepared", message.task());
  }
  if (answer.ok())
    prepared_.insert(task);
  else
    prepared_.erase(task);
  return std::vector<SearchEvent>{SearchHasPrepared{task, std::move(answer)}};
}

StatusOr<std::vector<SearchEvent>> SearchSession::Take(const v1::SearchAnswer& answer) {
  switch (answer.answer_case()) {
    case v1::SearchAnswer::kPrepared:
      return TakePrepared(answer.prepared());
    case v1::SearchAnswer::kProposed: {
      const uint32_t task = answer.proposed().task();
      if (!Answered(Kind::kPropose, task)) return NotAsked("what was proposed", task);
      const Status status = FromMessage(answer.proposed().status());
      StatusOr<std::vector<ProposedTrial>> proposed = std::exchange(proposed_[task], {});
      if (!status.ok() && proposed->empty()) proposed = status;
      return std::vector<SearchEvent>{SearchHasProposed{task, std::move(proposed)}};
    }
    case v1::SearchAnswer::kFinalists: {
      const uint32_t task = answer.finalists().task();
      if (!Answered(Kind::kChooseFinalists, task)) return NotAsked("finalists", task);
      ASSIGN_OR_RETURN(StatusOr<PreparedFinals> finals, FromMessage(answer.finalists()));
      return std::vector<SearchEvent>{SearchHasFinalists{task, std::move(finals)}};
    }
    case v1::SearchAnswer::kBusy:
      is_busy_ = answer.busy();
      return std::vector<SearchEvent>{SearchIsBusy{is_busy_}};
    case v1::SearchAnswer::kStore:
    case v1::SearchAnswer::ANSWER_NOT_SET:
      break;
  }
  return InvalidArgument("read a search's message: it says nothing");
}

std::vector<SearchEvent> SearchSession::Ended(const std::string& how) {
  ++deaths_;
  how_ = how;
  std::vector<SearchEvent> events;
  if (std::exchange(is_busy_, false)) events.push_back(SearchIsBusy{false});
  for (auto& [task, trials] : std::exchange(proposed_, {})) {
    if (!trials.empty() && Answered(Kind::kPropose, static_cast<uint32_t>(task)))
      events.push_back(SearchHasProposed{task, std::move(trials)});
  }
  return events;
}

Status SearchSession::WhyBroken() const {
  return FailedPrecondition(fmt::format(
      "search of this job: {} of its processes have died, the last one {}; something in what it is to tune, "
      "or in what is recorded of that, does it; give it fewer tasks to find out which",
      deaths_, how_));
}

}  // namespace lathe
