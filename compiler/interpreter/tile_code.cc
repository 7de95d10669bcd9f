#include "compiler/interpreter/tile_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "compiler/interpreter/kernel_code.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// Memory counted in elements from its begin, whatever view of it is at hand.
class Memory {
 public:
  Memory(AccessCode access, int index_slot, ExprCodePtr offset, DataType dtype, std::string scope)
      : dtype(dtype),
        scope(std::move(scope)),
        access_(std::move(access)),
        index_slot_(index_slot),
        offset_(std::move(offset)) {}

  int64_t Offset(Machine& machine) const { return offset_->Eval(machine, 0).i; }
  Storage& storage(Machine& machine) const { return *machine.views[access_.slot].storage; }
  Value Read(Machine& machine, int64_t at) const {
    SetIndex(machine, at);
    return access_.Read(machine, 0);
  }
  void Write(Machine& machine, int64_t at, Value value) const {
    SetIndex(machine, at);
    const int64_t cell = access_.Resolve(machine, 0);
    if (cell < 0) return;
    access_.NoteWrite(machine, 0, cell);
    storage(machine).cells[cell] = value;
  }
  const Site* site() const { return access_.site; }

  const DataType dtype;
  const std::string scope;

 private:
  void SetIndex(Machine& machine, int64_t at) const {
    machine.registers[index_slot_].i = at - machine.views[access_.slot].offset;
  }
  AccessCode access_;
  int index_slot_;
  ExprCodePtr offset_;
};

// Extents of a product of matrices, and which two of them a fragment has.
using Extents = std::array<int, 3>;
struct Box {
  int rows, columns;
};
Box BoxOf(std::string_view scope, const Extents& mnk) {
  if (scope == "wmma.matrix_a") return {mnk[0], mnk[2]};
  if (scope == "wmma.matrix_b") return {mnk[2], mnk[1]};
  return {mnk[0], mnk[1]};
}

// acc + a * b, each step rounded to `type`.
Value MultiplyAdd(DataType type, const FloatRounding& round, Value acc, DataType in, Value a, Value b) {
  if (type.is_float()) return {.f = round(acc.f + round(a.f * b.f))};
  CHECK(!in.is_float()) << "an integer sum of floats";
  return {.i = static_cast<int32_t>(static_cast<uint32_t>(acc.i) + static_cast<uint32_t>(a.i * b.i))};
}

// All lanes of a warp come to it.
class WarpCode : public StmtCode {
 public:
  WarpCode(std::string name, const Site* site) : name_(std::move(name)), site_(site) {}
  void Run(Machine& machine) const override { RunInStep(machine, {0}); }

  void RunInStep(Machine& machine, const Threads& threads) const override {
    if (threads.empty() || !machine.CountStep(*site_)) return;
    const Threads missing = machine.kernel->MissingOfWarps(threads);
    if (!missing.empty()) return FailOfDivergence(machine, *site_, name_.c_str(), threads, missing.front());
    for (auto first = threads.begin(); first != threads.end() && !machine.has_failed;) {
      const auto last = std::find_if(first, threads.end(), [&](int t) { return t / kWarpSize != *first / kWarpSize; });
      RunWarp(machine, Threads(first, last));
      first = last;
    }
    if (machine.options.implies_barriers) machine.kernel->PassBarrier();
  }

 protected:
  virtual void RunWarp(Machine& machine, const Threads& lanes) const = 0;
  bool Fail(Machine& machine, const std::string& what) const {
    machine.Fail(StatusCode::kInvalidArgument, *site_, fmt::format("T.{}: {}", name_, what));
    return false;
  }
  // What needs the registers of 32 lanes.
  bool IsWhole(Machine& machine, const Threads& lanes) const {
    return lanes.size() == kWarpSize || Fail(machine, fmt::format("expected 32 lanes, got {}", lanes.size()));
  }

 private:
  std::string name_;
  const Site* site_;
};

// ---- wmma
class FillFragmentCode : public WarpCode {
 public:
  FillFragmentCode(const Site* site, Memory to, Extents mnk, ExprCodePtr value, DataType value_type)
      : WarpCode("tvm_fill_fragment", site),
        to_(std::move(to)),
        mnk_(mnk),
        value_(std::move(value)),
        value_type_(value_type) {}

 protected:
  void RunWarp(Machine& machine, const Threads& lanes) const override {
    machine.kernel->SwitchTo(lanes.front());
    const Box box = BoxOf(to_.scope, mnk_);
    const int64_t begin = to_.Offset(machine) * box.rows * box.columns;
    Value value = value_->Eval(machine, 0);
    if (value_type_.is_float() && !to_.dtype.is_float()) value.i = FloatToInt(to_.dtype, value.f);
    if (!value_type_.is_float() && to_.dtype.is_float()) value.f = IntToFloat(to_.dtype, value.i);
    to_.storage(machine).fragment = mnk_;
    for (int i = 0; i < box.rows * box.columns && !machine.has_failed; ++i) to_.Write(machine, begin + i, value);
  }

 private:
  Memory to_;
  Extents mnk_;
  ExprCodePtr value_;
  DataType value_type_;
};

// Between a fragment and rows (or columns) of memory.
class CopyFragmentCode : public WarpCode {
 public:
  CopyFragmentCode(const std::string& name, const Site* site, Memory fragment, Extents mnk, Memory memory,
                   ExprCodePtr stride, bool is_row_major)
      : WarpCode(name, site),
        fragment_(std::move(fragment)),
        mnk_(mnk),
        memory_(std::move(memory)),
        stride_(std::move(stride)),
        is_row_major_(is_row_major),
        is_load_(name == "tvm_load_matrix_sync") {}

 protected:
  void RunWarp(Machine& machine, const Threads& lanes) const override {
    machine.kernel->SwitchTo(lanes.front());
    const Box box = BoxOf(fragment_.scope, mnk_);
    const int64_t held = fragment_.Offset(machine) * box.rows * box.columns, begin = memory_.Offset(machine),
                  stride = stride_->Eval(machine, 0).i;
    if (is_load_) fragment_.storage(machine).fragment = mnk_;
    for (int i = 0; i < box.rows * box.columns && !machine.has_failed; ++i) {
      const int row = i / box.columns, column = i % box.columns;
      const int64_t at = begin + (is_row_major_ ? row * stride + column : column * stride + row);
      if (is_load_)
        fragment_.Write(machine, held + i, memory_.Read(machine, at));
      else
        memory_.Write(machine, at, fragment_.Read(machine, held + i));
    }
  }

 private:
  Memory fragment_;
  Extents mnk_;
  Memory memory_;
  ExprCodePtr stride_;
  bool is_row_major_, is_load_;
};

class MmaSyncCode : public WarpCode {
 public:
  MmaSyncCode(const Site* site, Memory d, Memory a, Memory b, Memory c)
      : WarpCode("tvm_mma_sync", site), d_(std::move(d)), a_(std::move(a)), b_(std::move(b)), c_(std::move(c)) {}

 protected:
  void RunWarp(Machine& machine, const Threads& lanes) const override {
    machine.kernel->SwitchTo(lanes.front());
    const Extents mnk = a_.storage(machine).fragment;
    if (mnk[0] == 0) return void(Fail(machine, "its matrix A is no fragment that T.tvm_load_matrix_sync made"));
    d_.storage(machine).fragment = mnk;
    const auto [m, n, k] = mnk;
    const int64_t d = d_.Offset(machine) * m * n, a = a_.Offset(machine) * m * k, b = b_.Offset(machine) * k * n,
                  c = c_.Offset(machine) * m * n;
    const FloatRounding round(d_.dtype);
    for (int i = 0; i < m * n && !machine.has_failed; ++i) {
      Value sum = c_.Read(machine, c + i);
      for (int x = 0; x < k; ++x) {
        sum = MultiplyAdd(d_.dtype, round, sum, a_.dtype, a_.Read(machine, a + i / n * k + x),
                          b_.Read(machine, b + x * n + i % n));
      }
      d_.Write(machine, d + i, sum);
    }
  }

 private:
  Memory d_, a_, b_, c_;
};

// ---- Registers of lanes
class LdmatrixCode : public WarpCode {
 public:
  LdmatrixCode(const Site* site, Memory to, Memory from, ExprCodePtr from_offset, int num, bool is_trans)
      : WarpCode("ptx_ldmatrix", site),
        to_(std::move(to)),
        from_(std::move(from)),
        from_offset_(std::move(from_offset)),
        num_(num),
        is_trans_(is_trans) {}

 protected:
  void RunWarp(Machine& machine, const Threads& lanes) const override {
    if (!IsWhole(machine, lanes)) return;
    std::array<int64_t, kWarpSize> rows;  // Where the row begins that each lane hands in.
    for (int lane = 0; lane < kWarpSize; ++lane) {
      machine.kernel->SwitchTo(lanes[lane]);
      rows[lane] = from_.Offset(machine) + from_offset_->Eval(machine, 0).i;
    }
    const int per_register = 4 / to_.dtype.bytes();
    for (int lane = 0; lane < kWarpSize; ++lane) {
      machine.kernel->SwitchTo(lanes[lane]);
      const int64_t registers = to_.Offset(machine);
      for (int i = 0; i < num_ * per_register && !machine.has_failed; ++i)
        to_.Write(machine, registers + i, from_.Read(machine, Source(machine, rows, lane, i)));
    }
  }

 private:
  int64_t Source(Machine& machine, const std::array<int64_t, kWarpSize>& rows, int lane, int i) const {
    const int per_register = 4 / to_.dtype.bytes(), matrix = i / per_register, in_register = i % per_register,
              along = per_register * (lane % 4) + in_register;
    if (!is_trans_) return rows[8 * matrix + lane / 4] + along;
    if (per_register == 2) return rows[8 * matrix + along] + lane / 4;
    // No instruction transposes bytes: what lowers the call copies a tile of 32 rows, given the stride of its rows.
    const int64_t begin = from_.Offset(machine), stride = from_offset_->Eval(machine, 0).i;
    return begin + (16 * (matrix % 2) + along) * stride + 8 * (matrix / 2) + lane / 4;
  }
  Memory to_, from_;
  ExprCodePtr from_offset_;
  int num_;
  bool is_trans_;
};

// Row and column of register `i` of a lane.
struct Place {
  int row, column;
};
Place PlaceInA(int lane, int i, int per_register) {
  const int word = i / per_register;
  return {lane / 4 + 8 * (word % 2), per_register * (lane % 4) + i % per_register + 4 * per_register * (word / 2)};
}
Place PlaceInB(int lane, int i, int per_register) {
  return {per_register * (lane % 4) + i % per_register + 4 * per_register * (i / per_register), lane / 4};
}
Place PlaceInC(int lane, int i) { return {lane / 4 + 8 * (i / 2), 2 * (lane % 4) + i % 2}; }

// D = A * B + D of 16 x k by k x 8.
class MmaCode : public WarpCode {
 public:
  MmaCode(const Site* site, Memory a, Memory b, Memory c, int k)
      : WarpCode("ptx_mma", site), a_(std::move(a)), b_(std::move(b)), c_(std::move(c)), k_(k) {}

 protected:
  void RunWarp(Machine& machine, const Threads& lanes) const override {
    if (!IsWhole(machine, lanes)) return;
    std::vector<Value> a(16 * k_), b(k_ * 8);
    const int per_register = 4 / a_.dtype.bytes();
    for (int lane = 0; lane < kWarpSize; ++lane) {
      machine.kernel->SwitchTo(lanes[lane]);
      const int64_t a_at = a_.Offset(machine), b_at = b_.Offset(machine);
      for (int i = 0; i < k_ / 2; ++i) {
        const Place place = PlaceInA(lane, i, per_register);
        a[place.row * k_ + place.column] = a_.Read(machine, a_at + i);
      }
      for (int i = 0; i < k_ / 4; ++i) {
        const Place place = PlaceInB(lane, i, per_register);
        b[place.row * 8 + place.column] = b_.Read(machine, b_at + i);
      }
      if (machine.has_failed) return;
    }
    for (int lane = 0; lane < kWarpSize && !machine.has_failed; ++lane) {
      machine.kernel->SwitchTo(lanes[lane]);
      Accumulate(machine, lane, a, b);
    }
  }

 private:
  void Accumulate(Machine& machine, int lane, const std::vector<Value>& a, const std::vector<Value>& b) const {
    const FloatRounding round(c_.dtype);
    const int64_t c_at = c_.Offset(machine);
    for (int i = 0; i < 4 && !machine.has_failed; ++i) {
      const Place place = PlaceInC(lane, i);
      Value sum = c_.Read(machine, c_at + i);
      for (int x = 0; x < k_; ++x)
        sum = MultiplyAdd(c_.dtype, round, sum, a_.dtype, a[place.row * k_ + x], b[x * 8 + place.column]);
      c_.Write(machine, c_at + i, sum);
    }
  }
  Memory a_, b_, c_;
  int k_;
};

// Of a tile of 16 x 16, whose left half lies in the first four registers: zeros, or where it is written to.
class TileOfLanesCode : public WarpCode {
 public:
  TileOfLanesCode(const std::string& name, const Site* site, Memory tile, int num_registers, std::optional<Memory> to,
                  ExprCodePtr stride)
      : WarpCode(name, site),
        tile_(std::move(tile)),
        num_registers_(num_registers),
        to_(std::move(to)),
        stride_(std::move(stride)) {}

 protected:
  void RunWarp(Machine& machine, const Threads& lanes) const override {
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      machine.kernel->SwitchTo(lanes[lane]);
      const int64_t begin = tile_.Offset(machine) + static_cast<int64_t>(lane) * num_registers_;
      for (int i = 0; i < num_registers_ && !machine.has_failed; ++i) {
        if (to_)
          Store(machine, static_cast<int>(lane), i, tile_.Read(machine, begin + i));
        else
          tile_.Write(machine, begin + i, tile_.dtype.is_float() ? Value{.f = 0} : Value{.i = 0});
      }
    }
  }

 private:
  void Store(Machine& machine, int lane, int i, Value value) const {
    const Place place = PlaceInC(lane, i % 4);
    to_->Write(machine, to_->Offset(machine) + place.row * stride_->Eval(machine, 0).i + place.column + 8 * (i / 4),
               value);
  }
  Memory tile_;
  int num_registers_;
  std::optional<Memory> to_;
  ExprCodePtr stride_;
};

// ---- From calls to code.
class TileCompiler {
 public:
  TileCompiler(const Call& call, Scope& scope) : call_(call), name_(call.op->name), scope_(scope) {}

  StatusOr<StmtCodePtr> Compile() {
    RETURN_IF_ERROR(scope_.MeetHere("T." + name_));
    if (name_ == "tvm_fill_fragment" && call_.args.size() == 6) return CompileFill();
    if (name_ == "tvm_mma_sync" && call_.args.size() == 8) return CompileMmaSync();
    if ((name_ == "tvm_load_matrix_sync" || name_ == "tvm_store_matrix_sync") && call_.args.size() == 8)
      return CompileCopy();
    if (name_ == "ptx_ldmatrix" && call_.args.size() == 7) return CompileLdmatrix();
    if (name_ == "ptx_mma" && call_.args.size() == 13) return CompileMma();
    if (name_ == "mma_fill" && call_.args.size() == 3) return CompileMmaFill();
    if (name_ == "mma_store" && call_.args.size() == 6) return CompileMmaStore();
    return Error(StatusCode::kUnimplemented, fmt::format("with {} operands", call_.args.size()));
  }

 private:
  Status Error(StatusCode code, const std::string& what) const {
    return scope_.Error(code, fmt::format("T.{} {}", name_, what));
  }
  // The memory that a pointer among the operands says, from `offset` on, which counts from where the pointer shows.
  StatusOr<Memory> MemoryAt(size_t pointer, const Expr& offset) {
    const Call* access = call_.args[pointer].As<Call>();
    const bool is_access = access != nullptr && access->op->name == "tvm_access_ptr" && access->args.size() == 5;
    ASSIGN_OR_RETURN(const Buffer buffer, scope_.OwnerOf(is_access ? access->args[1] : call_.args[pointer]));
    if (!buffer->dtype.is_scalar() || buffer->scope.starts_with("m16n8k8"))
      return Error(StatusCode::kUnimplemented,
                   fmt::format("of \"{}\", {} of scope \"{}\", whose place in the lanes the code generator chooses",
                               buffer->name, buffer->dtype.ToString(), buffer->scope));
    const Var index("index", DataType::Int(64));
    const int slot = scope_.DefineVar(index);
    ASSIGN_OR_RETURN(AccessCode code, CompileAccess(buffer, {index}, scope_));
    code.is_flat = true;
    ASSIGN_OR_RETURN(ExprCodePtr begin, CompileExpr(is_access ? access->args[2] + offset : offset, scope_));
    return Memory(std::move(code), slot, std::move(begin), buffer->dtype, buffer->scope);
  }
  StatusOr<int> Int(size_t operand, int64_t most) const {
    const int64_t* value = AsIntConst(call_.args[operand]);
    if (value == nullptr || *value < 0 || *value > most)
      return Error(StatusCode::kInvalidArgument, fmt::format("takes a constant up to {} as operand {}", most, operand));
    return static_cast<int>(*value);
  }
  std::string_view String(size_t operand) const {
    const StringImm* text = call_.args[operand].As<StringImm>();
    return text == nullptr ? std::string_view() : std::string_view(text->value);
  }
  StatusOr<Extents> Mnk() const {
    ASSIGN_OR_RETURN(const int m, Int(1, 64));
    ASSIGN_OR_RETURN(const int n, Int(2, 64));
    ASSIGN_OR_RETURN(const int k, Int(3, 64));
    return Extents{m, n, k};
  }

  StatusOr<StmtCodePtr> CompileFill() {
    ASSIGN_OR_RETURN(Memory to, MemoryAt(0, call_.args[4]));
    ASSIGN_OR_RETURN(const Extents mnk, Mnk());
    ASSIGN_OR_RETURN(ExprCodePtr value, CompileExpr(call_.args[5], scope_));
    return StmtCodePtr(
        new FillFragmentCode(scope_.CurrentSite(), std::move(to), mnk, std::move(value), call_.args[5].dtype()));
  }
  StatusOr<StmtCodePtr> CompileCopy() {
    ASSIGN_OR_RETURN(Memory fragment, MemoryAt(0, call_.args[4]));
    ASSIGN_OR_RETURN(const Extents mnk, Mnk());
    ASSIGN_OR_RETURN(Memory memory, MemoryAt(5, IntConst(DataType::Int(32), 0)));
    ASSIGN_OR_RETURN(ExprCodePtr stride, CompileExpr(call_.args[6], scope_));
    const std::string_view major = String(7);
    if (major != "row_major" && major != "col_major")
      return Error(StatusCode::kInvalidArgument, "takes \"row_major\" or \"col_major\" as its last operand");
    return StmtCodePtr(new CopyFragmentCode(name_, scope_.CurrentSite(), std::move(fragment), mnk, std::move(memory),
                                            std::move(stride), major == "row_major"));
  }
  StatusOr<StmtCodePtr> CompileMmaSync() {
    ASSIGN_OR_RETURN(Memory d, MemoryAt(0, call_.args[1]));
    ASSIGN_OR_RETURN(Memory a, MemoryAt(2, call_.args[3]));
    ASSIGN_OR_RETURN(Memory b, MemoryAt(4, call_.args[5]));
    ASSIGN_OR_RETURN(Memory c, MemoryAt(6, call_.args[7]));
    RETURN_IF_ERROR(CheckTypes(a, b, d));
    return StmtCodePtr(new MmaSyncCode(scope_.CurrentSite(), std::move(d), std::move(a), std::move(b), std::move(c)));
  }
  Status CheckTypes(const Memory& a, const Memory& b, const Memory& d) const {
    if (a.dtype.is_float() == d.dtype.is_float() && b.dtype.is_float() == d.dtype.is_float()) return OkStatus();
    return Error(StatusCode::kInvalidArgument, fmt::format("adds products of {} and {} to {}", a.dtype.ToString(),
                                                           b.dtype.ToString(), d.dtype.ToString()));
  }
  Status CheckRegisters(const Memory& memory) const {
    if (memory.dtype.bytes() == 1 || memory.dtype.bytes() == 2) return OkStatus();
    return Error(StatusCode::kUnimplemented, fmt::format("of elements of {}", memory.dtype.ToString()));
  }
  StatusOr<StmtCodePtr> CompileLdmatrix() {
    ASSIGN_OR_RETURN(const int is_trans, Int(0, 1));
    ASSIGN_OR_RETURN(const int num, Int(1, 4));
    ASSIGN_OR_RETURN(Memory to, MemoryAt(3, call_.args[4]));
    ASSIGN_OR_RETURN(Memory from, MemoryAt(5, IntConst(DataType::Int(32), 0)));
    ASSIGN_OR_RETURN(ExprCodePtr offset, CompileExpr(call_.args[6], scope_));
    RETURN_IF_ERROR(CheckRegisters(to));
    return StmtCodePtr(
        new LdmatrixCode(scope_.CurrentSite(), std::move(to), std::move(from), std::move(offset), num, is_trans != 0));
  }
  StatusOr<StmtCodePtr> CompileMma() {
    ASSIGN_OR_RETURN(Memory a, MemoryAt(6, call_.args[7]));
    ASSIGN_OR_RETURN(Memory b, MemoryAt(8, call_.args[9]));
    ASSIGN_OR_RETURN(Memory c, MemoryAt(10, call_.args[11]));
    RETURN_IF_ERROR(CheckTypes(a, b, c));
    RETURN_IF_ERROR(CheckRegisters(a));
    const std::string_view shape = String(0);
    const int k = shape == "m16n8k8" ? 8 : shape == "m16n8k16" ? 16 : shape == "m16n8k32" ? 32 : 0;
    const int words = k * a.dtype.bytes() / 16;  // Of B in a lane.
    if ((words != 1 && words != 2) || b.dtype.bytes() != a.dtype.bytes() || String(1) != "row" || String(2) != "col")
      return Error(StatusCode::kUnimplemented, fmt::format("\"{}\" of {}", shape, a.dtype.ToString()));
    return StmtCodePtr(new MmaCode(scope_.CurrentSite(), std::move(a), std::move(b), std::move(c), k));
  }
  StatusOr<StmtCodePtr> CompileMmaFill() {
    ASSIGN_OR_RETURN(const int num_registers, Int(0, 256));
    ASSIGN_OR_RETURN(Memory tile, MemoryAt(1, call_.args[2]));
    return StmtCodePtr(
        new TileOfLanesCode(name_, scope_.CurrentSite(), std::move(tile), num_registers, std::nullopt, nullptr));
  }
  StatusOr<StmtCodePtr> CompileMmaStore() {
    ASSIGN_OR_RETURN(const int rows, Int(0, 16));
    ASSIGN_OR_RETURN(const int columns, Int(1, 16));
    if (rows != 16 || columns != 16) return Error(StatusCode::kUnimplemented, "of a tile other than 16 x 16");
    ASSIGN_OR_RETURN(Memory to, MemoryAt(2, IntConst(DataType::Int(32), 0)));
    ASSIGN_OR_RETURN(Memory tile, MemoryAt(3, call_.args[4]));
    ASSIGN_OR_RETURN(ExprCodePtr stride, CompileExpr(call_.args[5], scope_));
    return StmtCodePtr(
        new TileOfLanesCode(name_, scope_.CurrentSite(), std::move(tile), 8, std::move(to), std::move(stride)));
  }

  const Call& call_;
  std::string name_;
  Scope& scope_;
};

}  // namespace

bool IsTileCall(const Call& call) {
  static constexpr std::string_view kNames[] = {"tvm_fill_fragment",
                                                "tvm_load_matrix_sync",
                                                "tvm_store_matrix_sync",
                                                "tvm_mma_sync",
                                                "ptx_ldmatrix",
                                                "ptx_mma",
                                                "mma_fill",
                                                "mma_store"};
  return std::find(std::begin(kNames), std::end(kNames), call.op->name) != std::end(kNames);
}

StatusOr<StmtCodePtr> CompileTileCall(const Call& call, Scope& scope) { return TileCompiler(call, scope).Compile(); }

}  // namespace lathe
