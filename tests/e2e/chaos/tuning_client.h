// A client that has one small job tuned after another, and writes down all that it was told.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "tests/e2e/chaos/history.h"
#include "tuner/service/client.h"

namespace lathe::chaos {

class TuningClient {
 public:
  // `number` makes its jobs' names and programs its own. `seconds` is the time of the history.
  TuningClient(int number, const Endpoint& server, ServerConnectionOptions options, std::function<double()> seconds);
  ~TuningClient();
  TuningClient(const TuningClient&) = delete;

  void BeginNoMore() { begins_more_ = false; }
  // Whatever it waits for. Its connection must end by itself.
  void GiveUp() { gives_up_ = true; }
  bool IsDone() const { return is_done_; }
  size_t jobs_begun() const { return jobs_begun_; }
  // After its end.
  std::vector<WatchedJob> TakeJobs() { return std::move(jobs_); }
  // What it was told that no fault of a network, disk or process explains.
  std::vector<std::string> TakeSurprises() { return std::move(surprises_); }

 private:
  void Run();
  bool Submit(WatchedJob& job);
  void Watch(WatchedJob& job);
  // Every fourth job, when it has a few trials.
  bool IsToCancel(const WatchedJob& job) const;
  void Cancel(WatchedJob& job);
  void Note(WatchedJob& job, const v1::WatchJobResponse& update) const;
  void NoteError(const std::string& what, const Status& status);

  const int number_;
  const std::function<double()> seconds_;
  const std::unique_ptr<ServerConnection> connection_;
  std::atomic<bool> begins_more_ = true, gives_up_ = false, is_done_ = false;
  std::atomic<size_t> jobs_begun_ = 0;
  std::vector<WatchedJob> jobs_;  // Of the thread, until it has ended; and so is the next one.
  std::vector<std::string> surprises_;
  std::thread thread_;
};

}  // namespace lathe::chaos
