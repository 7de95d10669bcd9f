#include "tuner/job/search_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <thread>

#include "support/file.h"
#include "support/socket_child.h"
#include "support/status_macros.h"
#include "tuner/job/search_messages.h"
#include "tuner/job/search_session.h"

namespace lathe {
namespace {

constexpr int kMostStarts = 60, kStartAgainMs = 1000;
constexpr int64_t kMostReferenceBytes = int64_t{256} << 20;  // As a device takes.

}  // namespace

class SearchProcess::Impl {
 public:
  Impl(SearchProcessOptions options, std::vector<TaskRow> tasks, Store& store, ReferenceBlobs& blobs,
       JobSearchHandlers handlers)
      : options_(std::move(options)),
        tasks_(std::move(tasks)),
        store_(store),
        blobs_(blobs),
        handlers_(std::move(handlers)),
        session_(options_.begin),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { Run(); }) {}

  ~Impl() {
    {
      std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    Wake();
    thread_.join();
    close(wake_);
  }

  // `ask` is called with the session, unless it is broken; what it returns is sent.
  template <typename Ask>
  void Add(Ask ask) {
    {
      std::lock_guard lock(mutex_);
      if (session_.is_broken()) return;
      // Before a process runs, what it is told then has all of it.
      const v1::SearchRequest request = ask(session_);
      if (child_.is_running()) AppendSearchMessage(request, outgoing_);
    }
    Wake();
  }

  void SetPaused(bool is_paused) {
    std::lock_guard lock(mutex_);
    is_paused_ = is_paused;
    Signal();
  }

 private:
  void Wake() { (void)!eventfd_write(wake_, 1); }

  void Signal() {
    if (child_.is_running()) kill(-child_.pid(), is_paused_ ? SIGSTOP : SIGCONT);
  }

  void Run() {
    while (BeginProcess()) {
      const std::optional<std::string> how = Serve();
      if (!how) break;
      std::vector<SearchEvent> events;
      bool is_broken = false;
      {
        std::lock_guard lock(mutex_);
        events = session_.Ended(*how);
        is_broken = session_.is_broken();
      }
      for (SearchEvent& event : events) Tell(std::move(event));
      if (!is_broken) continue;
      handlers_.on_broken(session_.WhyBroken());
      break;
    }
    std::lock_guard lock(mutex_);
    (void)child_.Kill();
  }

  // False: we are stopping, or it cannot be started, which whoever can tell is told.
  bool BeginProcess() {
    Status started;
    for (int tries = 0; tries < kMostStarts; ++tries) {
      {
        std::lock_guard lock(mutex_);
        if (is_stopping_) return false;
        started = StartProcess();
        if (started.ok()) return true;
      }
      pollfd wait{.fd = wake_, .events = POLLIN, .revents = 0};  // Others may need our descriptors for a moment only.
      poll(&wait, 1, kStartAgainMs);
      Forget(wake_);
    }
    handlers_.on_broken(started);
    return false;
  }

  // Under the mutex.
  Status StartProcess() {
    incoming_.clear();
    outgoing_.clear();
    RETURN_IF_ERROR(child_.Start("search", options_.program,
                                 {std::to_string(kChildSocket), std::to_string(options_.memory_limit_bytes)}));
    Signal();
    for (const v1::SearchRequest& request : session_.Begin()) AppendSearchMessage(request, outgoing_);
    return OkStatus();
  }

  static void Forget(int wake) {
    eventfd_t count = 0;
    (void)!eventfd_read(wake, &count);
  }

  // Until the process has ended: how, in words. Nullopt: we are stopping.
  std::optional<std::string> Serve() {
    for (;;) {
      pollfd waits[2] = {{.fd = child_.socket(), .events = POLLIN, .revents = 0},
                         {.fd = wake_, .events = POLLIN, .revents = 0}};
      {
        std::lock_guard lock(mutex_);
        if (is_stopping_) return std::nullopt;
        if (!outgoing_.empty()) waits[0].events |= POLLOUT;
      }
      poll(waits, 2, -1);
      Forget(wake_);
      Write();
      const bool is_open = Read();
      if (const Status status = Handle(); !status.ok()) return End(fmt::format("was ended: {}", status.message()));
      if (!is_open) return End("");
    }
  }

  std::string End(std::string why) {
    std::lock_guard lock(mutex_);
    is_paused_ = false;
    Signal();  // A stopped process dies of nothing.
    const std::string words = child_.LastWords();
    const std::string how = HowItEnded(why.empty() ? child_.WaitOrKill() : child_.Kill());
    return why.empty() ? fmt::format("{}{}{}", how, words.empty() ? "" : ": ", words) : why;
  }

  void Write() {
    std::lock_guard lock(mutex_);
    while (!outgoing_.empty()) {
      const ssize_t sent = send(child_.socket(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return;  // Later, or never: Read says so.
      outgoing_.erase(0, static_cast<size_t>(sent));
    }
  }

  bool Read() {
    char chunk[1 << 16];
    for (;;) {
      const ssize_t got = recv(child_.socket(), chunk, sizeof(chunk), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
      if (got <= 0) return false;
      incoming_.append(chunk, static_cast<size_t>(got));
    }
  }

  Status Handle() {
    v1::SearchAnswer answer;
    for (;;) {
      ASSIGN_OR_RETURN(const bool is_whole, TakeSearchMessage(incoming_, answer));
      if (!is_whole) return OkStatus();
      if (answer.has_store()) {
        ASSIGN_OR_RETURN(v1::SearchRequest stored, DoForIt(answer.store()));
        std::lock_guard lock(mutex_);
        AppendSearchMessage(stored, outgoing_);
        continue;
      }
      StatusOr<std::vector<SearchEvent>> events = [&] {
        std::lock_guard lock(mutex_);
        return session_.Take(answer);
      }();
      RETURN_IF_ERROR(events.status());
      for (SearchEvent& event : *events) Tell(std::move(event));
    }
  }

  void Tell(SearchEvent event) {
    if (auto* prepared = std::get_if<SearchHasPrepared>(&event))
      handlers_.on_prepared(prepared->task, std::move(prepared->answer));
    else if (auto* proposed = std::get_if<SearchHasProposed>(&event))
      handlers_.on_proposed(proposed->task, std::move(proposed->answer));
    else if (auto* finals = std::get_if<SearchHasFinalists>(&event))
      handlers_.on_finalists(finals->task, std::move(finals->answer));
    else
      handlers_.on_busy(std::get<SearchIsBusy>(event).is_busy);
  }

  // ---- What the process has us do. An error: it asks for what cannot be.

  StatusOr<v1::SearchRequest> DoForIt(const v1::SearchStore& verb) {
    v1::SearchRequest request;
    v1::SearchStored& stored = *request.mutable_stored();
    Status status;  // Of the store.
    switch (verb.verb_case()) {
      case v1::SearchStore::kProposeTrials: {
        RETURN_IF_ERROR(ProposeTrials(verb.propose_trials(), stored, status));
        break;
      }
      case v1::SearchStore::kModelRound: {
        RETURN_IF_ERROR(RecordModelRound(verb.model_round(), status));
        break;
      }
      case v1::SearchStore::kPutBlob:
        status = PutBlob(verb.put_blob(), stored);
        break;
      case v1::SearchStore::kHasBlob: {
        ASSIGN_OR_RETURN(const Digest digest, Digest::FromBytes(verb.has_blob().digest()));
        stored.set_has_blob(blobs_.HasBlob(digest, verb.has_blob().size_bytes()));
        break;
      }
      case v1::SearchStore::VERB_NOT_SET:
        return InvalidArgument("read a search's message: it asks for nothing");
    }
    *stored.mutable_status() = ToMessage(status);
    return request;
  }

  Status ProposeTrials(const v1::SearchNewTrials& message, v1::SearchStored& stored, Status& status) {
    if (message.task() >= tasks_.size())
      return InvalidArgument(fmt::format("read a search's message: task {} of {}", message.task(), tasks_.size()));
    ASSIGN_OR_RETURN(const std::vector<NewTrial> trials, FromMessage(message));
    const auto ids = store_.ProposeTrials(tasks_[message.task()].id, trials, TrialState::kProposed);
    status = ids.status();
    if (!ids.ok()) return OkStatus();
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < trials.size(); ++i) {
      stored.add_trial_ids((*ids)[i].value_or(0));
      if ((*ids)[i]) session_.Proposed(message.task(), {*(*ids)[i], trials[i].trace_digest});
    }
    return OkStatus();
  }

  Status RecordModelRound(const v1::SearchModelRound& message, Status& status) {
    const bool is_ours =
        std::any_of(tasks_.begin(), tasks_.end(), [&](const TaskRow& task) { return task.id == message.task_id(); });
    if (!is_ours) return InvalidArgument("read a search's message: a model's round of another job");
    status = store_.RecordModelRound(message.task_id(), FromMessage(message));
    return OkStatus();
  }

  Status PutBlob(const v1::SearchBlobFile& message, v1::SearchStored& stored) {
    if (message.size_bytes() < 0 || message.size_bytes() > kMostReferenceBytes)
      return FailedPrecondition(fmt::format("keep a reference: {} bytes, at most {}; tune a smaller workload",
                                            message.size_bytes(), kMostReferenceBytes));
    const std::string path =
        fmt::format("{}/references/lathe-search-{}.blob", options_.begin.directory(), child_.pid());
    ASSIGN_OR_RETURN(const std::string content, ReadWholeFile(path));
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    if (static_cast<int64_t>(content.size()) != message.size_bytes())
      return DataLoss(
          fmt::format("keep a reference: {} has {} bytes, {} were said", path, content.size(), message.size_bytes()));
    ASSIGN_OR_RETURN(const Digest digest, blobs_.PutBlob(content));
    stored.set_digest(std::string(digest.raw()));
    return OkStatus();
  }

  const SearchProcessOptions options_;
  const std::vector<TaskRow> tasks_;
  Store& store_;
  ReferenceBlobs& blobs_;
  const JobSearchHandlers handlers_;
  std::mutex mutex_;
  SearchSession session_;     // Guarded by mutex_.
  SocketChild child_;         // Changes under mutex_, on the thread.
  std::string outgoing_;      // Guarded by mutex_.
  bool is_stopping_ = false;  // Guarded by mutex_.
  bool is_paused_ = false;    // Guarded by mutex_.
  std::string incoming_;      // On the thread.
  const int wake_;
  std::thread thread_;
};

SearchProcess::SearchProcess(SearchProcessOptions options, std::vector<TaskRow> tasks, Store& store,
                             ReferenceBlobs& blobs, JobSearchHandlers handlers)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(tasks), store, blobs, std::move(handlers))) {}
SearchProcess::~SearchProcess() = default;

void SearchProcess::Prepare(size_t task) {
  impl_->Add([task](SearchSession& session) { return session.Prepare(task); });
}
void SearchProcess::Propose(size_t task, int count) {
  impl_->Add([task, count](SearchSession& session) { return session.Propose(task, count); });
}
void SearchProcess::ChooseFinalists(size_t task) {
  impl_->Add([task](SearchSession& session) { return session.ChooseFinalists(task); });
}
void SearchProcess::Distrust(size_t task) {
  impl_->Add([task](SearchSession& session) { return session.Distrust(task); });
}
void SearchProcess::Observe(size_t task, MeasuredCandidate measured) {
  impl_->Add([task, &measured](SearchSession&) {
    v1::SearchRequest request;
    *request.mutable_observe() = ToMessage(task, measured);
    return request;
  });
}
void SearchProcess::SetPaused(bool is_paused) { impl_->SetPaused(is_paused); }

}  // namespace lathe
