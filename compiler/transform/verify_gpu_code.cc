#include "compiler/transform/verify_gpu_code.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "compiler/ir/storage_scope.h"
#include "compiler/ir/visitor.h"
#include "compiler/transform/func_analysis.h"
#include "compiler/transform/target_attr.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct LimitName {
  std::string_view name;
  int64_t GpuLimits::* limit;
};
constexpr LimitName kLimitNames[] = {{"max_local_memory_per_block", &GpuLimits::max_local_memory_per_block},
                                     {"max_shared_memory_per_block", &GpuLimits::max_shared_memory_per_block},
                                     {"max_threads_per_block", &GpuLimits::max_threads_per_block},
                                     {"max_thread_x", &GpuLimits::max_thread_x},
                                     {"max_thread_y", &GpuLimits::max_thread_y},
                                     {"max_thread_z", &GpuLimits::max_thread_z},
                                     {"max_vthread", &GpuLimits::max_vthread},
                                     {"max_vector_bytes", &GpuLimits::max_vector_bytes},
                                     {"max_kernels", &GpuLimits::max_kernels}};

int64_t BytesOf(DataType type) { return (type.bits * type.lanes + 7) / 8; }

class KernelMeasurer : public StmtExprVisitor {
 public:
  explicit KernelMeasurer(const GpuLimits& limits) : limits_(limits) {}
  std::vector<std::string> violations;

 protected:
  void VisitStmt(const Stmt& stmt) override {
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) {
      const bool launches = attr->attr_key == "thread_extent" || attr->attr_key == "virtual_thread";
      const IterVar* axis = std::get_if<IterVar>(&attr->node);
      if (launches && axis != nullptr) return VisitLaunch(stmt, *attr, *axis);
    }
    if (const Allocate* memory = stmt.As<Allocate>()) Add(memory->buffer_var, memory->dtype, memory->extents);
    if (const AllocBuffer* memory = stmt.As<AllocBuffer>())
      Add(memory->buffer->data, memory->buffer->dtype, memory->buffer->shape);
    if (const BufferStore* store = stmt.As<BufferStore>()) NoteVector("a store", store->value.dtype());
    StmtExprVisitor::VisitStmt(stmt);
  }
  void VisitExpr(const Expr& e) override {
    if (e.As<BufferLoad>() != nullptr) NoteVector("a load", e.dtype());
    if (e.As<Cast>() != nullptr) NoteVector("a conversion", e.dtype());
    StmtExprVisitor::VisitExpr(e);
  }

 private:
  void VisitLaunch(const Stmt& self, const AttrStmt& attr, const IterVar& axis) {
    if (depth_ == 0) {
      extents_.clear();
      local_bytes_ = shared_bytes_ = 0;
      Demand("kernels", ++num_kernels_, limits_.max_kernels);
    }
    NoteAxis(axis, attr.value);
    ++depth_;
    StmtExprVisitor::VisitStmt(self);
    if (--depth_ > 0) return;
    int64_t threads = 1;
    for (const auto& [tag, extent] : extents_) threads *= extent;
    Demand("threads of a block", threads, limits_.max_threads_per_block);
    Demand("bytes of local memory", local_bytes_, limits_.max_local_memory_per_block);
    Demand("bytes of shared memory", shared_bytes_, limits_.max_shared_memory_per_block);
  }
  void NoteAxis(const IterVar& axis, const Expr& value) {
    const std::string& tag = axis.thread_tag.empty() ? axis.var.name() : axis.thread_tag;
    if (!tag.starts_with("threadIdx.") && !tag.starts_with("vthread")) return;
    const int64_t* extent = AsIntConst(value);
    if (extent == nullptr) return violations.push_back(fmt::format("the extent of {} is no constant", tag));
    const auto [known, is_new] = extents_.emplace(tag, *extent);
    if (!is_new && known->second != *extent)
      violations.push_back(fmt::format("{} has extent {} and extent {} in one kernel", tag, known->second, *extent));
    if (is_new) Demand(tag.c_str(), *extent, LimitOf(tag));
  }
  int64_t LimitOf(std::string_view tag) const {
    if (tag.starts_with("vthread")) return limits_.max_vthread;
    return tag.back() == 'x' ? limits_.max_thread_x : tag.back() == 'y' ? limits_.max_thread_y : limits_.max_thread_z;
  }
  void Add(const Var& data, DataType type, const std::vector<Expr>& extents) {
    NoteVector("an element of an allocation", type);
    const StatusOr<StorageScope> scope = ParseStorageScope(ScopeOf(data));
    const auto shape = ConstantShape(extents);
    if (!scope.ok() || !shape) return;
    int64_t bytes = BytesOf(type);
    for (int64_t extent : *shape) bytes *= extent;
    if (scope->rank == StorageRank::kLocal) local_bytes_ += bytes;
    if (scope->rank == StorageRank::kShared) shared_bytes_ += bytes;
  }
  void NoteVector(const char* what, DataType type) {
    if (type.lanes > 1) Demand(fmt::format("bytes of {}", what).c_str(), BytesOf(type), limits_.max_vector_bytes);
  }
  void Demand(const char* what, int64_t actual, int64_t limit) {
    if (actual > limit) violations.push_back(fmt::format("{}: {}, at most {} are allowed", what, actual, limit));
  }

  const GpuLimits& limits_;
  int depth_ = 0;  // Of launches.
  std::map<std::string, int64_t> extents_;
  int64_t num_kernels_ = 0, local_bytes_ = 0, shared_bytes_ = 0;
};

}  // namespace

StatusOr<GpuLimits> ReadGpuLimits(const AttrMap& constraints) {
  GpuLimits limits;
  for (const auto& [name, value] : constraints) {
    const auto* known = std::find_if(std::begin(kLimitNames), std::end(kLimitNames),
                                     [&](const LimitName& row) { return row.name == name; });
    const int64_t* number = std::get_if<int64_t>(&value);
    if (known == std::end(kLimitNames) || number == nullptr)
      return InvalidArgument(fmt::format("verify_gpu_code: Invalid check item: {}", name));
    limits.*(known->limit) = *number;
  }
  return limits;
}

Status VerifyGpuCode(const PrimFunc& func, const GpuLimits& limits) {
  KernelMeasurer measurer(limits);
  measurer(func.body);
  if (measurer.violations.empty()) return OkStatus();
  return InvalidArgument(
      fmt::format("GPU constraint(s) violated in @{}: {}", func.name, fmt::join(measurer.violations, "; ")));
}

Status VerifyVtcmLimit(const PrimFunc& func, int64_t default_bytes) {
  ASSIGN_OR_RETURN(const std::optional<TargetDescription> target, DescriptionOf(func.attrs));
  int64_t limit = default_bytes;
  if (target) {
    const auto found = target->attrs.find("vtcm-capacity");
    const int64_t* capacity = found == target->attrs.end() ? nullptr : std::get_if<int64_t>(&found->second);
    limit = capacity == nullptr ? 0 : *capacity;
  }
  const std::map<std::string, int64_t> bytes = AllocatedBytes(func);
  const auto vtcm = bytes.find("global.vtcm");
  if (vtcm == bytes.end() || limit <= 0 || vtcm->second <= limit) return OkStatus();
  return InvalidArgument(
      fmt::format("The global.vtcm memory allocation limit has been exceeded in @{} (allocated: {}, limit: {})",
                  func.name, vtcm->second, limit));
}

}  // namespace lathe
