// The running state of one interpretation: registers, storage, and what is remembered to find faults. Private to this
// folder.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "compiler/interpreter/async_copies.h"
#include "compiler/interpreter/cell_history.h"
#include "compiler/interpreter/interpreter.h"
#include "compiler/interpreter/number.h"
#include "compiler/ir/stmt.h"

namespace lathe {

// Which threads of a kernel see some memory.
enum class SharedBy : uint8_t { kThread, kWarp, kBlock, kAll };

// Elements of one allocation or argument. Shadow times are kept only where a check needs them; 0: never.
struct Storage {
  std::vector<Value> cells;  // One per lane of each element.
  std::vector<uint64_t> write_times, read_times;
  std::vector<bool> undefined;       // Cells that hold a copy of what nobody wrote. Empty: none ever did.
  std::vector<CellHistory> history;  // Empty: no kernel touched it yet.
  std::vector<Flight> flights;       // Empty: no copy of it was ever in flight.
  SharedBy shared_by = SharedBy::kAll;
  std::array<int, 3> fragment{};  // m, n and k of the wmma fragments that it holds; zeros: none yet.
  bool is_argument = false;
};

// What a buffer slot stands for just now. Strides and offset are in elements.
struct View {
  Storage* storage = nullptr;
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;
};

// Where in the program an access stands, for messages.
struct LoopName {
  std::string name;
  int slot;
};
struct Site {
  std::string block;            // Empty outside of blocks.
  std::vector<LoopName> loops;  // Outermost first.
};

struct ConcurrentLoop {
  uint64_t start = 0, iteration = 0;  // Times at which the loop and its current iteration began.
  const std::string* name = nullptr;
  ForKind kind = ForKind::kParallel;
};

class Kernel;

class Machine {
 public:
  Machine(std::string func_name, const InterpreterOptions& options, int num_registers, int num_views)
      : options(options), registers(num_registers), views(num_views), func_name_(std::move(func_name)) {}

  const InterpreterOptions& options;
  std::vector<Value> registers;
  std::vector<View> views;
  std::vector<Value> vector_values;  // Lanes of the store being executed.
  std::vector<int64_t> vector_cells;
  const std::vector<bool>* mask = nullptr;  // Lanes that run, inside a vector condition; null: all.
  bool has_failed = false;                  // Or returned: nothing more runs.
  Kernel* kernel = nullptr;                 // The one that runs.
  uint32_t num_blocks_run = 0;              // Of all kernels.
  AsyncCopies copies;                       // Of the thread that runs.
  bool* is_unwritten = nullptr;  // Set: where a read of what nobody wrote is noted. Else such a read is a fault.

  const Status& status() const { return status_; }
  bool CountStep(const Site& site);  // False: out of steps.
  // Keeps the first fault. "interpret @f block "C" at i = 3: `what`".
  void Fail(StatusCode code, const Site& site, const std::string& what);
  void Return(const Site& site);  // The function is done. A fault inside of a kernel.

  // Storage that lives until ReleaseStorage. nullptr: failed, out of memory.
  std::unique_ptr<Storage> NewStorage(int64_t num_elements, int lanes, bool is_initialized, const Site& site);
  void ReleaseStorage(std::unique_ptr<Storage> storage);
  int64_t steps() const { return steps_; }
  bool has_shadow() const { return options.check_races || options.check_uninitialized; }

  // Shadow bookkeeping; call only with has_shadow().
  enum class Access : uint8_t { kRead, kWrite, kAtomic };
  // What the access races with: "", or how it goes on after "data race: X is read here and ". `is_missing` is set where
  // nobody wrote what is read.
  std::string Note(Storage& storage, int64_t cell, Access access, int statement, bool& is_missing);
  void EnterLoop(const std::string* name, ForKind kind) { loops_.push_back({++clock_, 0, name, kind}); }
  void NextIteration() { loops_.back().iteration = ++clock_; }
  void LeaveLoop() { loops_.pop_back(); }

 private:
  const ConcurrentLoop* NoteTime(Storage& storage, int64_t cell, Access access, bool& is_missing);
  // The loop whose current iteration runs beside the one that was at work at `time`.
  const ConcurrentLoop* FindParallel(uint64_t time) const;

  std::string func_name_;
  Status status_;
  int64_t steps_ = 0;
  int64_t live_elements_ = 0;
  uint64_t clock_ = 1;
  std::vector<ConcurrentLoop> loops_;
};

}  // namespace lathe
