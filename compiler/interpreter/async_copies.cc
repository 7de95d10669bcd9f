#include "compiler/interpreter/async_copies.h"

#include <algorithm>

#include "compiler/interpreter/machine.h"

namespace lathe {
namespace {

Flight& FlightOf(Storage& storage, int64_t cell) {
  if (storage.flights.empty()) storage.flights.resize(storage.cells.size());
  return storage.flights[cell];
}

void Land(const AsyncCopy& copy) {
  FlightOf(*copy.to, copy.to_cell).is_written = false;
  if (copy.from != nullptr) --FlightOf(*copy.from, copy.from_cell).num_readers;
}

}  // namespace

bool IsWrittenByCopy(const Storage& storage, int64_t cell) {
  return !storage.flights.empty() && storage.flights[cell].is_written;
}

bool IsInFlight(const Storage& storage, int64_t cell) {
  return !storage.flights.empty() && (storage.flights[cell].is_written || storage.flights[cell].num_readers > 0);
}

bool IsAnyInFlight(const Storage& storage) {
  return std::any_of(storage.flights.begin(), storage.flights.end(),
                     [](const Flight& flight) { return flight.is_written || flight.num_readers > 0; });
}

void AsyncCopies::Start(const AsyncCopy& copy) {
  FlightOf(*copy.to, copy.to_cell).is_written = true;
  if (copy.from != nullptr) ++FlightOf(*copy.from, copy.from_cell).num_readers;
  open_.push_back(copy);
}

void AsyncCopies::Commit(int64_t queue) { queues_[queue].push_back(std::exchange(open_, {})); }

std::vector<AsyncCopy> AsyncCopies::Finish(int64_t queue, int64_t num_left) {
  std::vector<AsyncCopy> done;
  auto& groups = queues_[queue];
  while (static_cast<int64_t>(groups.size()) > num_left) {
    done.insert(done.end(), groups.front().begin(), groups.front().end());
    groups.pop_front();
  }
  for (const AsyncCopy& copy : done) Land(copy);
  return done;
}

void AsyncCopies::Drop() {
  for (const AsyncCopy& copy : open_) Land(copy);
  for (const auto& [queue, groups] : queues_)
    for (const auto& group : groups)
      for (const AsyncCopy& copy : group) Land(copy);
  open_.clear();
  queues_.clear();
}

bool AsyncCopies::empty() const {
  return open_.empty() &&
         std::all_of(queues_.begin(), queues_.end(), [](const auto& queue) { return queue.second.empty(); });
}

}  // namespace lathe
