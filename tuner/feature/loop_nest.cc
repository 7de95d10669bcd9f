#include "tuner/feature/loop_nest.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/visitor.h"
#include "compiler/schedule/tensorize.h"

namespace lathe {
namespace {

std::vector<int64_t> ShapeOf(const Buffer& buffer) {
  std::vector<int64_t> shape;
  for (const Expr& extent : buffer->shape) {
    const int64_t* constant = AsIntConst(extent);
    shape.push_back(constant != nullptr ? std::max<int64_t>(1, *constant) : 1);
  }
  return shape;
}

double BytesOf(const Buffer& buffer) {
  double bytes = buffer->dtype.bytes();
  for (int64_t extent : ShapeOf(buffer)) bytes *= static_cast<double>(extent);
  return bytes;
}

bool IsProduct(const Expr& e) {
  const Binary* binary = e.As<Binary>();
  return binary != nullptr && binary->op == BinaryOp::kMul;
}

class Collector {
 public:
  explicit Collector(LoopNests& nests) : nests_(nests) {}

  void Visit(const Stmt& stmt) {
    if (const For* loop = stmt.As<For>()) return VisitLoop(*loop);
    if (const BlockRealize* realize = stmt.As<BlockRealize>()) return VisitBlock(*realize);
    if (const BufferStore* store = stmt.As<BufferStore>()) return VisitStore(*store);
    if (const Seq* seq = stmt.As<Seq>()) {
      for (const Stmt& child : seq->stmts) Visit(child);
    } else if (const IfThenElse* branch = stmt.As<IfThenElse>()) {
      Visit(branch->then_case);
      if (branch->else_case) Visit(*branch->else_case);
    } else if (const LetStmt* let = stmt.As<LetStmt>()) {
      nests_.space.Bind(let->var, let->value);
      Visit(let->body);
    } else if (const AllocBuffer* allocate = stmt.As<AllocBuffer>()) {
      AddAllocation(allocate->buffer);
      Visit(allocate->body);
    } else if (const DeclBuffer* declaration = stmt.As<DeclBuffer>()) {
      Visit(declaration->body);
    } else if (const Allocate* allocate = stmt.As<Allocate>()) {
      Visit(allocate->body);
    } else if (const AllocateConst* allocate = stmt.As<AllocateConst>()) {
      Visit(allocate->body);
    } else if (const AttrStmt* attr = stmt.As<AttrStmt>()) {
      Visit(attr->body);
    } else if (const While* loop = stmt.As<While>()) {
      Visit(loop->body);
    }
  }

 private:
  // The rows of a tile of AMX: they stand around its lanes and parts.
  static bool IsAroundTwoLoops(const For& loop) {
    const For* inner = loop.body.As<For>();
    return inner != nullptr && inner->body.As<For>() != nullptr;
  }

  // Loops of what becomes one instruction: the lanes, and the parts that it takes at once.
  bool VisitLoopOfDot(const For& loop) {
    const int64_t* extent = AsIntConst(loop.extent);
    const bool is_lanes = dot_parts_ == 0;
    if (!in_dot_ || extent == nullptr || (is_lanes && IsAroundTwoLoops(loop))) return false;
    const int id = nests_.space.AddLoop(loop.loop_var, *extent);
    if (is_lanes) loops_.push_back({id, *extent, ForKind::kVectorized, false});
    const double lanes = is_lanes ? static_cast<double>(*extent) : 1;
    iterations_ *= lanes;
    const int64_t parts_around = std::exchange(dot_parts_, is_lanes ? 1 : *extent);
    const uint64_t loop_around = std::exchange(dot_loop_, is_lanes ? 0 : nests_.space.BitOf(id));
    Visit(loop.body);
    dot_parts_ = parts_around;
    dot_loop_ = loop_around;
    iterations_ /= lanes;
    if (is_lanes) loops_.pop_back();
    return true;
  }

  void VisitLoop(const For& loop) {
    if (VisitLoopOfDot(loop)) return;
    const int64_t* constant = AsIntConst(loop.extent);
    const int64_t extent =
        constant != nullptr ? *constant : nests_.space.Cover(nests_.space.Parse(loop.extent), ~uint64_t{0}).high;
    const int id = nests_.space.AddLoop(loop.loop_var, std::max<int64_t>(1, extent));
    loops_.push_back({id, nests_.space.Extent(id), loop.kind, false});
    iterations_ *= static_cast<double>(loops_.back().extent);
    Visit(loop.body);
    iterations_ /= static_cast<double>(loops_.back().extent);
    loops_.pop_back();
  }

  void VisitBlock(const BlockRealize& realize) {
    ++nests_.num_blocks;
    for (const Buffer& buffer : realize.block->alloc_buffers) AddAllocation(buffer);
    const double useful_outside = useful_;
    const bool is_outermost = !inside_block_ && !realize.block->iter_vars.empty();
    double domain = 1;
    for (size_t i = 0; i < realize.iter_values.size(); ++i) {
      const IterVar& iter = realize.block->iter_vars[i];
      nests_.space.Bind(iter.var, realize.iter_values[i]);
      const int64_t* extent = AsIntConst(iter.domain.extent);
      if (extent != nullptr) domain *= static_cast<double>(*extent);
    }
    if (is_outermost) {
      inside_block_ = true;
      useful_ = std::min(1.0, domain / iterations_);
    }
    const bool around = std::exchange(in_dot_, in_dot_ || realize.block->annotations.contains(kAutoTensorize));
    Visit(realize.block->body);
    in_dot_ = around;
    if (is_outermost) {
      inside_block_ = false;
      useful_ = useful_outside;
    }
  }

  void AddAllocation(const Buffer& buffer) {
    if (buffer->scope == "register") return;
    const double bytes = BytesOf(buffer);
    nests_.allocated_bytes += bytes;
    nests_.largest_allocation_bytes = std::max(nests_.largest_allocation_bytes, bytes);
  }

  void VisitStore(const BufferStore& store) {
    nest_ = StoreNest{loops_, {}, {}, 1, 0, iterations_, useful_};
    Touch(store.buffer, store.indices, /*is_write=*/true);
    Count(store.value);
    if (in_dot_) {
      nest_.ops = {.mul_add = 1};
      nest_.dot_parts = std::max<int64_t>(1, dot_parts_);
      nest_.dot_loop = dot_loop_;
    }
    const uint64_t moving = nest_.accesses[0].loops;
    for (NestLoop& loop : nest_.loops) loop.reduces = loop.extent > 1 && (nests_.space.BitOf(loop.id) & moving) == 0;
    nests_.stores.push_back(std::move(nest_));
  }

  void Touch(const Buffer& buffer, const std::vector<Expr>& indices, bool is_write) {
    size_t i = 0;
    while (i < nest_.accesses.size() && !nest_.accesses[i].buffer.same_as(buffer)) ++i;
    if (i == nest_.accesses.size())
      nest_.accesses.push_back({buffer, ShapeOf(buffer), {}, false, false, buffer->scope == "register", 0});
    std::vector<AffineForm> place;
    uint64_t loops = 0;
    for (const Expr& index : indices) {
      place.push_back(nests_.space.Parse(index));
      loops |= nests_.space.LoopsOf(place.back());
    }
    NestAccess& access = nest_.accesses[i];
    access.places.push_back(std::move(place));
    access.loops |= loops;
    (is_write ? access.is_write : access.is_read) = true;
  }

  void Count(const Expr& e) {
    if (const BufferLoad* load = e.As<BufferLoad>()) return Touch(load->buffer, load->indices, /*is_write=*/false);
    if (const Binary* binary = e.As<Binary>()) {
      CountBinary(*binary);
      Count(binary->a);
      Count(binary->b);
    } else if (const Call* call = e.As<Call>()) {
      const bool is_guard = call->op->name == "if_then_else" && !AsksLanes(call->args[0]);
      if (is_guard)
        nest_.ops.guard += 1;
      else
        CountCall(e, *call);
      for (size_t i = is_guard ? 1 : 0; i < call->args.size(); ++i) Count(call->args[i]);
    } else if (const Select* select = e.As<Select>()) {
      nest_.ops.branch += 1;
      Count(select->condition);
      Count(select->true_value);
      Count(select->false_value);
    } else if (const Cast* cast = e.As<Cast>()) {
      nest_.ops.cast += 1;
      Count(cast->value);
    } else if (const Not* negation = e.As<Not>()) {
      nest_.ops.branch += 1;
      Count(negation->a);
    } else if (const Broadcast* broadcast = e.As<Broadcast>()) {
      Count(broadcast->value);
    }
  }

  // Whether vectorized loops move the condition.
  bool AsksLanes(const Expr& condition) {
    const uint64_t moving = nests_.space.LoopsOf(nests_.space.Parse(condition));
    return std::any_of(loops_.begin(), loops_.end(), [&](const NestLoop& loop) {
      return loop.kind == ForKind::kVectorized && (nests_.space.BitOf(loop.id) & moving) != 0;
    });
  }

  void CountBinary(const Binary& binary) {
    OpCounts& ops = nest_.ops;
    if (binary.op == BinaryOp::kAnd || binary.op == BinaryOp::kOr) {
      ops.branch += 1;
    } else if (!binary.a.dtype().is_float() && !HasLoad(binary.a) && !HasLoad(binary.b)) {
      ops.integer += 1;
    } else if (binary.op == BinaryOp::kAdd || binary.op == BinaryOp::kSub) {
      // The multiplication itself is counted below; together they are one operation.
      if (IsProduct(binary.a) || IsProduct(binary.b))
        ops.mul_add += 1, ops.mul -= 1;
      else
        ops.add += 1;
    } else if (binary.op == BinaryOp::kMul) {
      ops.mul += 1;
    } else if (binary.op == BinaryOp::kDiv || binary.op == BinaryOp::kFloorDiv || binary.op == BinaryOp::kFloorMod) {
      ops.div += 1;
    } else {
      ops.compare += 1;
    }
  }

  void CountCall(const Expr& e, const Call& call) {
    if (call.op->name == "if_then_else")
      nest_.ops.branch += 1;
    else if (!e.dtype().is_float())
      nest_.ops.integer += 1;
    else if (call.op->name == "fma")
      nest_.ops.mul_add += 1;
    else if (call.op->name == "exp" || call.op->name == "tanh" || call.op->name == "erf" || call.op->name == "sqrt" ||
             call.op->name == "log" || call.op->name == "rsqrt" || call.op->name == "sigmoid" || call.op->name == "pow")
      nest_.ops.math += 1;
    else
      nest_.ops.other += 1;
  }

  LoopNests& nests_;
  std::vector<NestLoop> loops_;
  double iterations_ = 1, useful_ = 1;
  bool inside_block_ = false;
  bool in_dot_ = false;
  int64_t dot_parts_ = 0;  // 0: its lanes are not met yet.
  uint64_t dot_loop_ = 0;
  StoreNest nest_;
};

}  // namespace

LoopNests CollectLoopNests(const PrimFunc& scheduled) {
  LoopNests nests;
  for (const ParamBuffer& entry : scheduled.buffer_map) nests.parameter_bytes += BytesOf(entry.buffer);
  Collector(nests).Visit(scheduled.body);
  return nests;
}

}  // namespace lathe
