#include "compiler/transform/annotate_device_regions.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/visitor.h"
#include "compiler/transform/target_attr.h"

namespace lathe {
namespace {

bool IsOfHost(const Op* op) {
  static constexpr std::string_view kNames[] = {
      "tvm_call_packed",      "tvm_call_cpacked",    "tvm_call_packed_lowered",     "tvm_call_cpacked_lowered",
      "anylist_getitem",      "anylist_resetitem",   "anylist_setitem_call_packed", "anylist_setitem_call_cpacked",
      "tvm_struct_get",       "tvm_struct_set",      "tvm_throw_last_error",        "tvm_stack_alloca",
      "tvm_stack_make_shape", "tvm_stack_make_array"};
  return std::find(std::begin(kNames), std::end(kNames), op->name) != std::end(kNames);
}

class DeviceRegionAnnotator : public StmtExprMutator {
 public:
  explicit DeviceRegionAnnotator(AttrMap device) : device_(std::move(device)) {}
  Stmt Annotate(const Stmt& body) {
    const Stmt visited = VisitStmt(body);
    return region_ == Region::kEither ? OnDevice(visited) : visited;
  }

 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    const AttrStmt* attr = stmt.As<AttrStmt>();
    if (attr != nullptr && attr->attr_key == "target") {
      region_ = Region::kDevice;
      return stmt;
    }
    const bool is_launch = attr != nullptr && (attr->attr_key == "thread_extent" || attr->attr_key == "device_scope" ||
                                               attr->attr_key == "pipeline_exec_scope");
    if (is_launch) {
      region_ = Region::kDevice;
      return OnDevice(stmt);
    }
    const Seq* seq = stmt.As<Seq>();
    return seq == nullptr ? StmtExprMutator::VisitStmt(stmt) : VisitSeq(*seq);
  }
  Expr VisitExpr(const Expr& expr) override {
    const Call* call = expr.As<Call>();
    if (call != nullptr && IsOfHost(call->op)) region_ = Region::kHost;
    return StmtExprMutator::VisitExpr(expr);
  }

 private:
  enum class Region : uint8_t { kEither, kHost, kDevice };
  Stmt OnDevice(Stmt body) const { return AttrStmt{"target", 0, Attr(device_), std::move(body)}; }
  // Beside what is the host's, neighbours that are not are one region.
  Stmt VisitSeq(const Seq& seq) {
    std::vector<std::pair<Stmt, Region>> parts;
    for (const Stmt& each : seq.stmts) {
      region_ = Region::kEither;
      const Stmt visited = VisitStmt(each);
      parts.emplace_back(visited, region_);
    }
    const bool has_host =
        std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.second == Region::kHost; });
    std::vector<Stmt> stmts, on_device;
    const auto finish = [&] {
      if (!on_device.empty()) stmts.push_back(OnDevice(MakeSeq(std::exchange(on_device, {}))));
    };
    for (auto& [stmt, region] : parts) {
      if (has_host && region == Region::kHost) finish();
      (has_host && region != Region::kHost ? on_device : stmts).push_back(std::move(stmt));
    }
    finish();
    if (has_host) region_ = Region::kHost;
    return MakeSeq(std::move(stmts));
  }

  const AttrMap device_;
  Region region_ = Region::kEither;
};

}  // namespace

StatusOr<PrimFunc> AnnotateDeviceRegions(PrimFunc func) {
  const AttrMap* target = TargetOf(func.attrs);
  if (target == nullptr)
    return InvalidArgument(
        fmt::format("AnnotateDeviceRegions: Require the target attribute of @{}; run BindTarget before", func.name));
  const std::optional<AttrMap> host = HostOf(*target);
  const AttrMap device = WithoutHost(*target);
  if (host && Attr(WithoutHost(*host)) != Attr(device)) func.body = DeviceRegionAnnotator(device).Annotate(func.body);
  return func;
}

}  // namespace lathe
