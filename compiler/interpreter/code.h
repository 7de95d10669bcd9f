// What expressions and statements are compiled to: small trees of objects that know their slots. Private to this
// folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/interpreter/kernel.h"
#include "support/status.h"

namespace lathe {

// An expression of `lanes` values is evaluated lane by lane; scalars ignore the lane. After a fault
// (machine.has_failed) the result means nothing.
class ExprCode {
 public:
  virtual ~ExprCode() = default;
  virtual Value Eval(Machine& machine, int lane) const = 0;
};
using ExprCodePtr = std::unique_ptr<const ExprCode>;

class StmtCode {
 public:
  virtual ~StmtCode() = default;
  virtual void Run(Machine& machine) const = 0;  // Returns early after a fault.
  // For threads of the block that machine.kernel runs: one after the other, each statement inside for all of them
  // before the next. An order that a device may choose as well, and races are found by who touched what, not by what
  // came out.
  virtual void RunInStep(Machine& machine, const Threads& threads) const;

  bool meets = false;  // Whether threads wait for, or share memory made by, others of their block somewhere inside.
};
using StmtCodePtr = std::unique_ptr<StmtCode>;

// One access to a buffer: checks the indices and the history, gives the cell.
struct AccessCode {
  int slot;
  std::string buffer_name;
  int element_lanes;
  bool is_flat;  // One index on a buffer of several dimensions or of none (lowered form): counts elements from
                 // elem_offset.
  std::vector<ExprCodePtr> indices;
  const Site* site;
  int statement;

  // -1 after a fault. `lane` counts cells: lanes of the index, then lanes of the element.
  int64_t Resolve(Machine& machine, int lane) const;
  Value Read(Machine& machine, int lane) const;
  // Checks the history of a write to `cell`; the caller stores the value.
  void NoteWrite(Machine& machine, int lane, int64_t cell, Machine::Access access = Machine::Access::kWrite) const;
  std::string Describe(Machine& machine, int lane) const;  // "A[3, 128]"
};

// How the threads of a warp give each other values.
struct WarpExchange {
  enum class Kind : uint8_t { kIndexed, kUp, kDown, kXor };
  std::string name;
  Kind kind;
  ExprCodePtr value, lane, width;
  const Site* site;
  int result_slot = -1;

  int Source(int lane_of_thread, int64_t by, int64_t in_group_of) const;  // The lane whose value a lane gets.
};

// Slots and sites that expressions need; filled by the statement compiler.
class Scope {
 public:
  virtual ~Scope() = default;
  virtual StatusOr<int> VarSlot(const Var& var) = 0;
  virtual StatusOr<int> BufferSlot(const Buffer& buffer) = 0;
  virtual int DefineVar(const Var& var) = 0;  // The slot of a variable that begins here.
  virtual const Site* CurrentSite() = 0;
  virtual int CurrentStatement() = 0;
  // Takes a value that threads of a warp exchange right before the statement that is being compiled; its result is then
  // in the register given.
  virtual StatusOr<int> AddExchange(WarpExchange exchange) = 0;
  // What is compiled is a statement where threads meet, called `name`. An error outside of kernels.
  virtual Status MeetHere(const std::string& name) = 0;
  // The buffer that introduced a data variable.
  virtual StatusOr<Buffer> OwnerOf(const Expr& data) = 0;
  // Between the two: what is compiled may be evaluated later than where the statement begins, or not at all.
  virtual void BeginLater() = 0;
  virtual void EndLater() = 0;
  virtual FloatMode float_mode() const = 0;
  virtual Status Error(StatusCode code, const std::string& what) = 0;  // Adds where.
};

StatusOr<ExprCodePtr> CompileExpr(const Expr& expr, Scope& scope);
StatusOr<AccessCode> CompileAccess(const Buffer& buffer, const std::vector<Expr>& indices, Scope& scope);
// Arithmetic of a Binary; of a Call other than those that are control flow or whole-vector operations.
StatusOr<ExprCodePtr> CompileBinary(BinaryOp op, DataType operand, ExprCodePtr a, ExprCodePtr b, Scope& scope);
StatusOr<ExprCodePtr> CompileCall(const Expr& expr, const Call& call, Scope& scope);
// Of a call by which threads reach each other; nullptr: it is none.
StatusOr<ExprCodePtr> CompileThreadCall(const Expr& expr, const Call& call, Scope& scope);

}  // namespace lathe
