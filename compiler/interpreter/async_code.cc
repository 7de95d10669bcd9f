#include "compiler/interpreter/async_code.h"

namespace lathe {
namespace {

class StartCopyCode : public StmtCode {
 public:
  StartCopyCode(AccessCode to, ExprCodePtr value, std::optional<AccessCode> from, int lanes)
      : to_(std::move(to)), value_(std::move(value)), from_(std::move(from)), lanes_(lanes) {}
  void Run(Machine& machine) const override {
    for (int lane = 0; lane < lanes_ && !machine.has_failed; ++lane) {
      const Value value = value_->Eval(machine, lane);
      AsyncCopy copy{nullptr, 0, machine.views[to_.slot].storage, to_.Resolve(machine, lane), value, to_.statement};
      if (machine.has_failed) return;
      to_.NoteWrite(machine, lane, copy.to_cell);
      if (from_) {
        copy.from = machine.views[from_->slot].storage;
        copy.from_cell = from_->Resolve(machine, lane);
      }
      if (!machine.has_failed) machine.copies.Start(copy);
    }
  }

 private:
  AccessCode to_;
  ExprCodePtr value_;
  std::optional<AccessCode> from_;
  int lanes_;
};

class CommitCode : public StmtCode {
 public:
  explicit CommitCode(ExprCodePtr queue) : queue_(std::move(queue)) {}
  void Run(Machine& machine) const override { machine.copies.Commit(queue_->Eval(machine, 0).i); }

 private:
  ExprCodePtr queue_;
};

class WaitCode : public StmtCode {
 public:
  WaitCode(ExprCodePtr queue, ExprCodePtr num_left) : queue_(std::move(queue)), num_left_(std::move(num_left)) {}
  void Run(Machine& machine) const override {
    const int64_t queue = queue_->Eval(machine, 0).i, num_left = num_left_->Eval(machine, 0).i;
    if (machine.has_failed) return;
    for (const AsyncCopy& copy : machine.copies.Finish(queue, std::max<int64_t>(num_left, 0))) {
      copy.to->cells[copy.to_cell] = copy.value;
      bool is_missing = false;  // Nobody could touch the cell until now: this is for those who will.
      if (machine.has_shadow())
        machine.Note(*copy.to, copy.to_cell, Machine::Access::kWrite, copy.statement, is_missing);
    }
  }

 private:
  ExprCodePtr queue_, num_left_;
};

}  // namespace

StmtCodePtr MakeStartCopyCode(AccessCode to, ExprCodePtr value, std::optional<AccessCode> from, int lanes) {
  return StmtCodePtr(new StartCopyCode(std::move(to), std::move(value), std::move(from), lanes));
}

StmtCodePtr MakeCommitCode(ExprCodePtr queue) { return StmtCodePtr(new CommitCode(std::move(queue))); }

StmtCodePtr MakeWaitCode(ExprCodePtr queue, ExprCodePtr num_left) {
  return StmtCodePtr(new WaitCode(std::move(queue), std::move(num_left)));
}

}  // namespace lathe
