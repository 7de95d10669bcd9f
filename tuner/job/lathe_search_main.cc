// lathe-search: searches one job for a coordinator, until that hangs up. Usage: lathe-search FD MEMORY_LIMIT_BYTES,
// where FD is the inherited end of a stream socket (docs/formats/search_protocol.md). It reads the database, writes its
// own folders, starts builders and lathe-evaluate, and whatever else it is led to do it cannot.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <future>
#include <mutex>

#include "runner/sandbox.h"
#include "support/file.h"
#include "support/socket_child.h"
#include "support/status_macros.h"
#include "tuner/cost_model/base_model.h"
#include "tuner/database/sqlite_store.h"
#include "tuner/job/default_search.h"
#include "tuner/job/search_messages.h"
#include "tuner/worker/process_builder.h"

namespace lathe {
namespace {

constexpr int kHungUp = 0, kBadUsage = 2, kBadMessage = 3, kCannotBegin = 4;

// The coordinator. Answers are sent from the search's thread, requests come in on the main one.
class Peer {
 public:
  explicit Peer(int fd) : fd_(fd) {}

  void Send(const v1::SearchAnswer& answer) {
    std::string bytes;
    AppendSearchMessage(answer, bytes);
    std::lock_guard lock(sending_);
    if (!SendAll(fd_, bytes)) _exit(kHungUp);
  }

  // On the search's thread: one at a time.
  v1::SearchStored Ask(v1::SearchStore verb) {
    std::future<v1::SearchStored> stored = (stored_ = {}).get_future();
    v1::SearchAnswer answer;
    *answer.mutable_store() = std::move(verb);
    Send(answer);
    return stored.get();
  }
  void Stored(const v1::SearchStored& stored) { stored_.set_value(stored); }

  // Waits. False: nobody is there any more.
  StatusOr<bool> Receive(v1::SearchRequest& request) {
    char chunk[1 << 16];
    for (;;) {
      ASSIGN_OR_RETURN(const bool is_whole, TakeSearchMessage(received_, request));
      if (is_whole) return true;
      const ssize_t got = recv(fd_, chunk, sizeof(chunk), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      received_.append(chunk, static_cast<size_t>(got));
    }
  }

 private:
  const int fd_;
  std::mutex sending_;
  std::promise<v1::SearchStored> stored_;
  std::string received_;
};

class PeerWrites : public SearchWrites {
 public:
  explicit PeerWrites(Peer& peer) : peer_(peer) {}

  StatusOr<std::vector<std::optional<int64_t>>> ProposeTrials(size_t task, std::span<const NewTrial> trials) override {
    v1::SearchStore verb;
    *verb.mutable_propose_trials() = ToMessage(task, trials);
    const v1::SearchStored stored = peer_.Ask(std::move(verb));
    RETURN_IF_ERROR(FromMessage(stored.status()));
    std::vector<std::optional<int64_t>> ids;
    for (const int64_t id : stored.trial_ids()) ids.push_back(id == 0 ? std::nullopt : std::optional(id));
    return ids;
  }
  Status RecordModelRound(int64_t task_id, const ModelRound& round) override {
    v1::SearchStore verb;
    *verb.mutable_model_round() = ToMessage(task_id, round);
    return FromMessage(peer_.Ask(std::move(verb)).status());
  }

 private:
  Peer& peer_;
};

class PeerBlobs : public ReferenceBlobs {
 public:
  PeerBlobs(Peer& peer, const std::string& folder)
      : peer_(peer), path_(fmt::format("{}/lathe-search-{}.blob", folder, getpid())) {}

  StatusOr<Digest> PutBlob(std::string_view content) override {
    RETURN_IF_ERROR(WriteWholeFile(path_, content));
    v1::SearchStore verb;
    verb.mutable_put_blob()->set_size_bytes(static_cast<int64_t>(content.size()));
    const v1::SearchStored stored = peer_.Ask(std::move(verb));
    RETURN_IF_ERROR(FromMessage(stored.status()));
    return Digest::FromBytes(stored.digest());
  }
  bool HasBlob(const Digest& digest, int64_t size_bytes) override {
    v1::SearchStore verb;
    verb.mutable_has_blob()->set_digest(std::string(digest.raw()));
    verb.mutable_has_blob()->set_size_bytes(size_bytes);
    return peer_.Ask(std::move(verb)).has_blob();
  }

 private:
  Peer& peer_;
  const std::string path_;
};

std::string FolderOf(const std::string& path) { return std::filesystem::absolute(path).parent_path().string(); }

// Programs that it starts confine themselves further.
Status Confine(const v1::SearchBegin& begin, const std::string& references, const std::string& builds) {
  for (const std::string& folder : {references, builds}) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return Unavailable(fmt::format("create {}: {}", folder, error.message()));
  }
  const RuntimeError error = ConfineFiles(
      {.readable = {FolderOf(begin.database()), FolderOf(begin.builder_program()), FolderOf(begin.evaluate_program()),
                    "/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/proc", "/dev/urandom"},
       .writable = {references, builds, "/dev/null"}});
  return error.ok() ? OkStatus() : Unavailable(error.message);
}

class Searcher {
 public:
  explicit Searcher(Peer& peer) : peer_(peer) {}

  Status Begin(const v1::SearchBegin& begin) {
    const std::string references = begin.directory() + "/references", builds = begin.directory() + "/build";
    RETURN_IF_ERROR(Confine(begin, references, builds));
    std::shared_ptr<const BaseModel> base = BuiltInBaseModel();
    if (!begin.base_model().empty()) {
      ASSIGN_OR_RETURN(BaseModel given, BaseModel::FromText(begin.base_model()));
      base = std::make_shared<const BaseModel>(std::move(given));
    }
    ASSIGN_OR_RETURN(store_, SqliteStore::OpenReadOnly(begin.database()));
    ASSIGN_OR_RETURN(const JobRow job, store_->GetJob(begin.job_id()));
    ASSIGN_OR_RETURN(const JobSpec spec, JobSpec::FromJson(job.spec));
    ASSIGN_OR_RETURN(const std::vector<TaskRow> tasks, store_->ListTasks(job.id));
    blobs_.emplace(peer_, references);
    ReferenceOptions maker{.directory = references, .program = begin.evaluate_program()};
    maker.builders = MakeProcessBuilders({.program = begin.builder_program(), .scratch_directory = builds});
    JobSearchOptions options{.strategies = EvolutionUnderXgb(std::move(base)),
                             .references = [this, maker] { return std::make_unique<ReferenceMaker>(maker, *blobs_); }};
    search_.emplace(std::move(options), spec, tasks, *store_, std::make_unique<PeerWrites>(peer_), gate_, Handlers());
    num_tasks_ = tasks.size();
    return OkStatus();
  }

  Status Do(const v1::SearchRequest& request) {
    switch (request.request_case()) {
      case v1::SearchRequest::kBegin:
        return search_ ? InvalidArgument("begun twice") : Begin(request.begin());
      case v1::SearchRequest::kStored:
        peer_.Stored(request.stored());
        return OkStatus();
      case v1::SearchRequest::kPrepare:
        return OfTask(request.prepare().task(), [&](size_t task) { search_->Prepare(task); });
      case v1::SearchRequest::kPropose:
        return OfTask(request.propose().task(),
                      [&](size_t task) { search_->Propose(task, request.propose().count()); });
      case v1::SearchRequest::kChooseFinalists:
        return OfTask(request.choose_finalists().task(), [&](size_t task) { search_->ChooseFinalists(task); });
      case v1::SearchRequest::kDistrust:
        return OfTask(request.distrust().task(), [&](size_t task) { search_->Distrust(task); });
      case v1::SearchRequest::kObserve: {
        ASSIGN_OR_RETURN(MeasuredCandidate measured, FromMessage(request.observe()));
        return OfTask(request.observe().task(), [&](size_t task) { search_->Observe(task, std::move(measured)); });
      }
      case v1::SearchRequest::REQUEST_NOT_SET:
        break;
    }
    return InvalidArgument("a request that asks for nothing");
  }

 private:
  template <typename Work>
  Status OfTask(uint32_t task, Work work) {
    if (!search_ || task >= num_tasks_) return InvalidArgument(fmt::format("task {} of {}", task, num_tasks_));
    work(task);
    return OkStatus();
  }

  JobSearchHandlers Handlers() {
    return {.on_prepared =
                [this](size_t task, StatusOr<PreparedTask> prepared) {
                  v1::SearchAnswer answer;
                  *answer.mutable_prepared() = ToMessage(task, prepared);
                  peer_.Send(answer);
                },
            .on_proposed =
                [this](size_t task, StatusOr<std::vector<ProposedTrial>> proposed) {
                  v1::SearchAnswer answer;
                  answer.mutable_proposed()->set_task(static_cast<uint32_t>(task));
                  *answer.mutable_proposed()->mutable_status() = ToMessage(proposed.status());
                  peer_.Send(answer);
                },
            .on_finalists =
                [this](size_t task, StatusOr<PreparedFinals> finals) {
                  v1::SearchAnswer answer;
                  *answer.mutable_finalists() = ToMessage(task, finals);
                  peer_.Send(answer);
                },
            .on_busy =
                [this](bool is_busy) {
                  v1::SearchAnswer answer;
                  answer.set_busy(is_busy);
                  peer_.Send(answer);
                },
            .on_broken = {}};
  }

  Peer& peer_;
  QuietGate gate_;  // Always open: whoever wants us quiet stops the process.
  std::unique_ptr<SqliteStore> store_;
  std::optional<PeerBlobs> blobs_;
  std::optional<JobSearch> search_;
  size_t num_tasks_ = 0;
};

int Serve(int fd) {
  Peer peer(fd);
  Searcher searcher(peer);
  v1::SearchRequest request;
  for (;;) {
    const StatusOr<bool> received = peer.Receive(request);
    if (received.ok() && !*received) _exit(kHungUp);  // The search may be in the middle of something.
    const Status done = received.ok() ? searcher.Do(request) : received.status();
    if (done.ok()) continue;
    std::fprintf(stderr, "%s\n", done.message().c_str());
    _exit(request.has_begin() ? kCannotBegin : kBadMessage);
  }
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int fd = argc == 3 ? lathe::BecomeSocketChild(argc, argv) : -1;
  if (fd < 0) {
    std::fputs("lathe-search is started by lathe; it is not a command: usage: lathe-search FD MEMORY_LIMIT_BYTES\n",
               stderr);
    return lathe::kBadUsage;
  }
  return lathe::Serve(fd);
}
