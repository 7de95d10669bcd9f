// Lowered TensorIR to LLVM IR: one function per kernel, one more per parallel loop.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/artifact/kernel_signature.h"
#include "compiler/codegen/llvm/machine_math.h"
#include "compiler/codegen/llvm/tile_statement.h"
#include "compiler/ir/dot_call.h"
#include "compiler/ir/stmt.h"
#include "compiler/target/target.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace lathe {

// Allocas of scope "register" carry this prefix, then the buffer's name: whoever finds one after optimisation has found
// a broken promise.
inline constexpr std::string_view kRegisterTilePrefix = "register tile ";
// Attribute of an LLVM function that has register tiles; its value names the buffers. The check of spills reads it.
inline constexpr char kHasRegisterTile[] = "lathe-register-tile";

// Integers as addresses need them: 64 bits, with what is known about their range. Index arithmetic must not overflow
// its own type.
struct IndexValue {
  llvm::Value* value = nullptr;  // i64
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  bool is_exact = true;  // Every intermediate result is known to fit its dtype, so 64 bits change nothing.
};

// Emits one kernel. Problems are remembered, poison goes on in place of the value, and Emit reports the first one.
class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const Target& target, const KernelSignature& signature);
  Status Emit(const PrimFunc& func);
  bool uses_tiles() const { return uses_tiles_; }  // Instructions of AMX.

 private:
  struct VarValue {
    llvm::Value* value = nullptr;  // Of the variable's dtype.
    IndexValue index;              // index.value is null unless it is a scalar signed integer.
    size_t position = 0;           // In the order of definition.
  };
  struct BufferValue {
    llvm::Value* pointer = nullptr;
    llvm::MDNode* scope = nullptr;    // What accesses to it are in ...
    llvm::MDNode* noalias = nullptr;  // ... and what they never touch.
    llvm::Align alignment{1};
    int64_t tile_bytes = 0;      // Of a register tile, with the room behind it; 0: other memory.
    bool is_large_tile = false;  // Of more than half of the register file.
    size_t position = 0;         // In the order of definition.
  };
  // Vector indices of the form base + stride * lane.
  struct LaneIndex {
    IndexValue base;
    int64_t stride = 0;
  };
  struct Address {
    llvm::Value* pointer = nullptr;  // Of the first lane, or a vector of pointers.
    bool is_contiguous = true;       // One access of all lanes.
    bool is_vector_of_pointers = false;
    bool is_inside_tile = false;  // In a register tile's memory, also the lanes that are off: it needs no mask.
    // Of lanes that are a few elements apart (2 to kMaxLoadStride): where the first is. Null otherwise.
    llvm::Value* first = nullptr;
    int64_t stride = 0;
    llvm::Align alignment{1};
  };

  // kernel_emitter.cc: functions, statements.
  void EmitKernelEntry(const PrimFunc& func);
  void BindAddress(const SignatureParam& param, llvm::Value* data);
  void BindScalar(const Var& var, llvm::Value* bits);
  void BindVar(const Var& var, llvm::Value* value);
  void BindLoopVar(const Var& var, const IndexValue& index);
  void EmitStmt(const Stmt& stmt);
  void EmitFor(const For& loop);
  void EmitSerialLoop(const For& loop, const IndexValue& begin, llvm::Value* end, bool is_known_to_run,
                      bool may_vectorize);
  void EmitUnrolledLoop(const For& loop, int64_t extent);
  void EmitBufferStore(const BufferStore& store);
  void KeepStepsApart(const BufferStore& store);
  void EmitIfThenElse(const IfThenElse& branch);
  void EmitAllocate(const AllocBuffer& allocate);
  void EmitDeclaration(const DeclBuffer& declaration);
  void EmitWorkspace(const AllocBuffer& allocate);
  void FreeWorkspace(llvm::Value* memory);
  void EmitAssert(const AssertStmt& assertion);
  void EmitWhile(const While& loop);
  void EmitFailure(const std::string& message, int code);
  void ReturnFromHere(llvm::Value* code);  // Gives workspaces back first.
  llvm::Function* NewFunction(llvm::FunctionType* type, const std::string& name, bool is_exported);
  llvm::AllocaInst* EntryAlloca(llvm::Type* type, llvm::Value* count, llvm::Align alignment, const std::string& name);
  llvm::BasicBlock* NewBlock(const char* name);
  llvm::MDNode* LoopMetadata(bool may_vectorize);
  void MakeAliasScopes(const PrimFunc& func);
  BufferValue MakeBufferValue(const Buffer& buffer, llvm::Value* pointer);
  llvm::Value* ContextField(unsigned field, llvm::Type* type);
  std::optional<int64_t> AllocationBytes(const Buffer& buffer);

  // kernel_emitter_parallel.cc: parallel loops.
  struct Capture;
  void EmitParallelLoop(const Stmt& self, const For& loop);
  std::optional<Capture> CaptureUses(const Stmt& self, const For& loop);
  llvm::Function* EmitParallelBody(const For& loop, const Capture& capture);
  void BindCaptured(const Capture& capture, llvm::Value* closure);

  // kernel_emitter_tiles.cc: tile registers of AMX.
  void BeginTiles(const Stmt& body);  // In the entry of a function that runs `body`.
  void EndTiles();                    // Before it returns.
  std::vector<TileStatement> TileStatementsOf(const Stmt& body);
  llvm::Value* MakeTileConfig(const TileStatement& product);
  void ConfigureTiles();
  void ConfigureTilesAgain();  // After a parallel loop.
  void EmitTileStatement(const AttrStmt& attr);
  void EmitTileProduct(const TileStatement& product);
  int TileOfSums(const TileAccess& sums);
  int LoadedTile(const TileAccess& access, int first_tile);
  void MoveTile(llvm::Intrinsic::ID move, int tile, const TileAccess& access);
  void ForgetTiles(const Buffer& sums);
  bool IsInTiles(const Buffer& buffer) const { return has_tiles_ && buffer->scope == kTileScope; }

  // kernel_emitter_index.cc: addresses.
  IndexValue EmitIndex(const Expr& e);
  IndexValue EmitBinaryIndex(const Binary& binary, DataType dtype);
  IndexValue EmitIndexDivision(BinaryOp op, const IndexValue& a, const IndexValue& b);
  IndexValue ConstantIndex(int64_t value);
  std::optional<LaneIndex> DecomposeLanes(const Expr& e);
  bool IsInsideTile(const BufferValue& memory, const Buffer& buffer, const IndexValue& first, int lanes);
  Address EmitAddress(const Buffer& buffer, const std::vector<Expr>& indices, int lanes);
  IndexValue FlattenIndex(const Buffer& buffer, const std::vector<Expr>& indices, size_t count);
  static bool IsPlainIndex(const Expr& e);

  // kernel_emitter_expr.cc: values.
  llvm::Value* EmitExpr(const Expr& e);
  llvm::Value* EmitBinary(const Binary& binary, DataType dtype);
  llvm::Value* EmitFloatBinary(BinaryOp op, llvm::Value* a, llvm::Value* b);
  // Emits what only lanes do in which `condition`, a vector, holds: those that are off neither load nor store.
  template <typename F>
  void InLanes(llvm::Value* condition, F emit) {
    llvm::Value* outer = mask_;
    mask_ = outer == nullptr ? condition : b_.CreateAnd(outer, condition);
    emit();
    mask_ = outer;
  }
  llvm::Value* DivisorOfLanes(llvm::Value* divisor);
  llvm::Value* EmitIntBinary(BinaryOp op, llvm::Value* a, llvm::Value* b, bool is_signed);
  llvm::Value* EmitLogical(const Binary& binary);
  llvm::Value* EmitShuffle(const Shuffle& shuffle, DataType dtype);
  llvm::Value* EmitCast(const Expr& value, DataType to);
  llvm::Value* EmitCall(const Call& call, DataType dtype);
  llvm::Value* EmitFloatCall(std::string_view name, const Call& call, DataType dtype);
  llvm::Value* EmitIntCall(std::string_view name, const Call& call, DataType dtype);
  bool HasDot(std::string_view feature) const;
  llvm::Value* EmitDot(const DotUse& dot, DataType dtype);
  llvm::Value* EmitReturn(const Call& call);
  llvm::Value* EmitIfThenElseCall(const Call& call, DataType dtype);
  llvm::Value* EmitGuardedLoad(const Call& call, llvm::Value* condition, DataType dtype);
  llvm::Value* EmitCondition(const Expr& condition);
  // float16 and bfloat16 are computed in float32 and rounded after each operation.
  llvm::Value* RoundTo16Bits(llvm::Value* value, DataType dtype);
  llvm::Value* FromMemory(llvm::Value* value, DataType dtype);
  llvm::Value* ToMemory(llvm::Value* value, DataType dtype);
  llvm::Value* Splat(llvm::Value* scalar, int lanes);

  // kernel_emitter_memory.cc: loads and stores.
  // A part of a vector in memory that one instruction moves.
  struct Piece {
    unsigned begin, size;  // Lanes.
    llvm::Value* pointer;
    llvm::Align alignment;
    llvm::Value* mask;  // Null: all of its lanes.
  };
  llvm::Value* EmitLoad(const BufferLoad& load, DataType dtype);
  void StoreLanes(const Buffer& buffer, const std::vector<Expr>& indices, llvm::Value* memory_value, int lanes);
  void ForEachPiece(const Address& address, llvm::FixedVectorType* type, bool has_masks,
                    const std::function<void(const Piece& piece)>& visit);
  llvm::Value* InsertLanes(llvm::Value* all, llvm::Value* part, unsigned begin);
  llvm::Value* LoadSpan(llvm::FixedVectorType* type, const Address& address, unsigned num_on,
                        const BufferValue& buffer);
  llvm::Value* LanesOfSpan(llvm::FixedVectorType* type, const Address& address, unsigned begin, unsigned size,
                           const BufferValue& buffer);
  llvm::Value* LoadMasked(llvm::Type* type, const Address& address, const BufferValue& buffer);
  void PrefetchNext(const BufferLoad& load, int lanes);
  void StoreApart(llvm::Value* value, const Address& address, const BufferValue& buffer);
  void StoreMasked(llvm::Value* value, const Address& address, const BufferValue& buffer);
  llvm::Value* Gather(const Address& address, llvm::Type* element, const BufferValue& buffer);
  void AddAliasMetadata(llvm::Instruction* access, const BufferValue& buffer);

  llvm::Type* ValueType(DataType dtype);
  llvm::Type* MemoryType(DataType dtype);
  llvm::Value* Poison(DataType dtype);
  void Fail(std::string message);
  // Remembers a problem when `dtype` is not one that code is generated for.
  bool CheckType(DataType dtype);
  const BufferValue* FindBuffer(const Buffer& buffer);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const Target& target_;
  const KernelSignature& signature_;
  // Without them the first lanes of a vector are moved in pieces. (AVX2 can store by a mask, in many steps on some
  // CPUs.)
  const bool has_masked_loads_, has_masked_stores_;
  Builder b_;
  MachineMath math_;
  Status error_;
  int depth_ = 0;

  std::unordered_map<const ExprNode*, VarValue> vars_;
  std::unordered_map<const BufferNode*, BufferValue> buffers_;
  // Alias scopes of the data variables of this PrimFunc, each with the list of all others.
  std::unordered_map<const ExprNode*, std::pair<llvm::MDNode*, llvm::MDNode*>> scopes_;
  std::unordered_map<const ExprNode*, Buffer> owners_;  // Of data variables: the buffer that introduced each.
  std::vector<llvm::Value*> workspaces_;                // Taken by the present function and not yet given back.
  llvm::Function* function_ = nullptr;
  llvm::Value* ctx_ = nullptr;
  llvm::Value* mask_ = nullptr;  // Lanes that run, inside a vector condition; null: all.
  size_t num_defined_ = 0;
  bool in_parallel_ = false;
  int64_t stack_bytes_ = 0;  // Of the present function.
  int num_bodies_ = 0;
  bool has_tiles_ = false, uses_tiles_ = false;  // The present function; any.
  llvm::Value* tile_config_ = nullptr;           // Of the present function.
  // Tile registers of the present function: which tile of sums each holds, and what has been loaded to multiply.
  std::vector<std::optional<std::pair<const BufferNode*, int64_t>>> tile_sums_;
  std::array<std::optional<TileAccess>, 4> loaded_tiles_;  // Two for the one factor, two for the other.
  std::array<int, 2> next_loaded_ = {};
  std::vector<std::string> register_tiles_;                        // Names, of the present function.
  std::vector<Var> open_loops_;                                    // Outermost first.
  size_t loops_around_tile_ = std::numeric_limits<size_t>::max();  // Of the innermost register tile; none: no tile.
  std::unordered_set<const BufferNode*> params_;
  std::vector<std::pair<const BufferNode*, Expr>> prefetched_;  // In the present loop: the index of a load.
  // Where the present step of a reduction began in step_block_, and which parts of large register tiles it has written.
  llvm::BasicBlock* step_block_ = nullptr;
  std::set<std::pair<const BufferNode*, int64_t>> written_in_step_;
};

}  // namespace lathe
