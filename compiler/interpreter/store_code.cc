#include "compiler/interpreter/store_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/visitor.h"

namespace lathe {
namespace {

// In another type, perhaps, or where there is something to copy, as padded ones are.
bool IsCopy(const Expr& value) {
  if (const Cast* cast = value.As<Cast>()) return IsCopy(cast->value);
  const auto is_part = [](const Expr& part) { return IsCopy(part) || !HasLoad(part); };
  if (const Call* choice = AsCall(value, "if_then_else"))
    return !HasLoad(choice->args[0]) && is_part(choice->args[1]) && is_part(choice->args[2]);
  return value.As<BufferLoad>() != nullptr;
}

class StoredValue {
 public:
  StoredValue(ExprCodePtr value, bool is_copy) : value_(std::move(value)), is_copy_(is_copy) {}

  Value Eval(Machine& machine, int lane, const AccessCode& target, bool& is_unwritten) const {
    is_unwritten = false;
    if (is_copy_ && !machine.views[target.slot].storage->is_argument) machine.is_unwritten = &is_unwritten;
    const Value value = value_->Eval(machine, lane);
    machine.is_unwritten = nullptr;
    return value;
  }
  static void MarkUndefined(Storage& storage, int64_t cell) {
    storage.undefined.resize(storage.cells.size());
    storage.undefined[cell] = true;
  }

 private:
  ExprCodePtr value_;
  bool is_copy_;
};

class StoreCode : public StmtCode {
 public:
  StoreCode(AccessCode access, StoredValue value) : access_(std::move(access)), value_(std::move(value)) {}
  void Run(Machine& machine) const override {
    bool is_unwritten = false;
    const Value value = value_.Eval(machine, 0, access_, is_unwritten);
    const int64_t cell = access_.Resolve(machine, 0);
    if (machine.has_failed) return;
    access_.NoteWrite(machine, 0, cell);
    Storage& storage = *machine.views[access_.slot].storage;
    storage.cells[cell] = value;
    if (is_unwritten) StoredValue::MarkUndefined(storage, cell);
  }

 private:
  AccessCode access_;
  StoredValue value_;
};

class VectorStoreCode : public StmtCode {  // All lanes are read before any is written.
 public:
  VectorStoreCode(AccessCode access, StoredValue value, int lanes)
      : access_(std::move(access)), value_(std::move(value)), lanes_(lanes) {}
  void Run(Machine& machine) const override {
    machine.vector_values.resize(lanes_);
    machine.vector_cells.resize(lanes_);
    std::vector<bool> unwritten(lanes_);
    const std::vector<bool>* mask = machine.mask;
    for (int lane = 0; lane < lanes_; ++lane) {
      machine.vector_cells[lane] = -1;
      if (mask != nullptr && !(*mask)[lane]) continue;
      bool is_unwritten = false;
      machine.vector_values[lane] = value_.Eval(machine, lane, access_, is_unwritten);
      unwritten[lane] = is_unwritten;
      machine.vector_cells[lane] = access_.Resolve(machine, lane);
      if (machine.has_failed) return;
    }
    Storage& storage = *machine.views[access_.slot].storage;
    for (int lane = 0; lane < lanes_; ++lane) {
      if (machine.vector_cells[lane] < 0) continue;
      if (machine.options.check_races) CheckDistinct(machine, lane);
      access_.NoteWrite(machine, lane, machine.vector_cells[lane]);
      if (machine.has_failed) return;
      storage.cells[machine.vector_cells[lane]] = machine.vector_values[lane];
      if (unwritten[lane]) StoredValue::MarkUndefined(storage, machine.vector_cells[lane]);
    }
  }

 private:
  void CheckDistinct(Machine& machine, int lane) const {
    const auto begin = machine.vector_cells.begin();
    if (std::find(begin, begin + lane, machine.vector_cells[lane]) == begin + lane) return;
    machine.Fail(StatusCode::kFailedPrecondition, *access_.site,
                 fmt::format("data race: two lanes of a vector store write {}", access_.Describe(machine, lane)));
  }
  AccessCode access_;
  StoredValue value_;
  int lanes_;
};

}  // namespace

StmtCodePtr MakeStoreCode(const BufferStore& store, AccessCode access, ExprCodePtr value) {
  const int lanes = store.value.dtype().lanes;
  StoredValue stored(std::move(value), IsCopy(store.value));
  if (lanes == 1) return StmtCodePtr(new StoreCode(std::move(access), std::move(stored)));
  return StmtCodePtr(new VectorStoreCode(std::move(access), std::move(stored), lanes));
}

}  // namespace lathe
