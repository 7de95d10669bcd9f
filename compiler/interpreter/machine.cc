#include "compiler/interpreter/machine.h"

#include <fmt/format.h>

#include "compiler/interpreter/kernel.h"

namespace lathe {

void Machine::Fail(StatusCode code, const Site& site, const std::string& what) {
  if (has_failed) return;
  has_failed = true;
  std::string place = fmt::format("interpret @{}", func_name_);
  if (!site.block.empty()) place += fmt::format(" block \"{}\"", site.block);
  for (size_t i = 0; i < site.loops.size(); ++i) {
    place += fmt::format("{} {} = {}", i == 0 ? " at" : ",", site.loops[i].name, registers[site.loops[i].slot].i);
  }
  status_ = Status(code, place + ": " + what);
}

void Machine::Return(const Site& site) {
  if (kernel != nullptr) Fail(StatusCode::kUnimplemented, site, "T.ret inside of a kernel");
  has_failed = true;
}

bool Machine::CountStep(const Site& site) {
  if (++steps_ <= options.max_steps) return true;
  Fail(StatusCode::kDeadlineExceeded, site,
       fmt::format("no end after {} statements; raise max_steps or shrink the shapes", options.max_steps));
  return false;
}

std::unique_ptr<Storage> Machine::NewStorage(int64_t num_elements, int lanes, bool is_initialized, const Site& site) {
  if (num_elements > (options.max_elements - live_elements_) / lanes) {
    Fail(
        StatusCode::kResourceExhausted, site,
        fmt::format(
            "a buffer of {} elements beside {} in use exceeds the limit of {}; raise max_elements or shrink the shapes",
            num_elements, live_elements_, options.max_elements));
    return nullptr;
  }
  auto storage = std::make_unique<Storage>();
  const size_t cells = static_cast<size_t>(num_elements * lanes);
  live_elements_ += static_cast<int64_t>(cells);
  storage->cells.assign(cells, Value{.i = 0});
  if (has_shadow()) {
    storage->write_times.assign(cells, is_initialized ? 1 : 0);
    storage->read_times.assign(cells, 0);
  }
  return storage;
}

void Machine::ReleaseStorage(std::unique_ptr<Storage> storage) {
  if (storage != nullptr) live_elements_ -= static_cast<int64_t>(storage->cells.size());
}

// Iterations run one after the other, so a time alone tells where it belongs: before the loop began, in an earlier
// iteration, or in this one; in the last case the loops inside decide.
const ConcurrentLoop* Machine::FindParallel(uint64_t time) const {
  for (const ConcurrentLoop& loop : loops_) {
    if (time < loop.start) return nullptr;
    if (time < loop.iteration) return &loop;
  }
  return nullptr;
}

// One reader and one writer per element are enough: if an earlier reader ran beside this one, whatever runs beside this
// one and comes later runs beside the earlier one, too (Feng and Leiserson, "Efficient detection of determinacy races
// in Cilk programs", 1997).
const ConcurrentLoop* Machine::NoteTime(Storage& storage, int64_t cell, Access access, bool& is_missing) {
  uint64_t& write_time = storage.write_times[cell];
  uint64_t& read_time = storage.read_times[cell];
  const bool is_undefined = !storage.undefined.empty() && storage.undefined[cell];
  if (access != Access::kWrite && (write_time == 0 || is_undefined)) is_missing = options.check_uninitialized;
  if (access == Access::kWrite && is_undefined) storage.undefined[cell] = false;
  const ConcurrentLoop* conflict = nullptr;
  if (options.check_races && !loops_.empty()) {
    if (write_time > 1) conflict = FindParallel(write_time);
    const ConcurrentLoop* reader = read_time != 0 ? FindParallel(read_time) : nullptr;
    if (access != Access::kRead && conflict == nullptr) conflict = reader;
    if (access == Access::kRead && reader == nullptr) read_time = clock_;
  } else if (access == Access::kRead) {
    read_time = clock_;
  }
  if (access != Access::kRead) write_time = clock_;
  return conflict;
}

std::string Machine::Note(Storage& storage, int64_t cell, Access access, int statement, bool& is_missing) {
  if (const ConcurrentLoop* conflict = NoteTime(storage, cell, access, is_missing)) {
    return fmt::format("{} in another iteration of loop \"{}\"", access == Access::kRead ? "written" : "touched",
                       *conflict->name);
  }
  if (kernel == nullptr || !options.check_races) return "";
  return kernel->Note(storage, cell, access, statement);
}

}  // namespace lathe
