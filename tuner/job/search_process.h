// The searching of one job in a process of its own, lathe-search: what reads a client's program and replays schedules
// on it may crash or grow without the server.
#pragma once

#include <memory>
#include <string>

#include "proto/lathe/v1/search.pb.h"
#include "tuner/database/store.h"
#include "tuner/job/job_search.h"
#include "tuner/measure/reference.h"

namespace lathe {

struct SearchProcessOptions {
  std::string program;  // Path of lathe-search.
  v1::SearchBegin begin;
  uint64_t memory_limit_bytes = uint64_t{16} << 30;  // Of address space.
};

class SearchProcess : public JobSearcher {
 public:
  // Starts the process, from a thread of its own that calls the handlers. `store` and `blobs` must outlive it.
  SearchProcess(SearchProcessOptions options, std::vector<TaskRow> tasks, Store& store, ReferenceBlobs& blobs,
                JobSearchHandlers handlers);
  // Ends the process.
  ~SearchProcess() override;
  SearchProcess(const SearchProcess&) = delete;

  // From any thread, all of these.
  void Prepare(size_t task) override;
  void Propose(size_t task, int count) override;
  void Observe(size_t task, MeasuredCandidate measured) override;
  void ChooseFinalists(size_t task) override;
  void Distrust(size_t task) override;
  // Stops the process while a device of this machine measures.
  void SetPaused(bool is_paused);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
