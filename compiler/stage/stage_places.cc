#include "compiler/stage/stage_places.h"

#include <algorithm>

#include "compiler/te/scan.h"

namespace lathe::te {

StagePlaces::StagePlaces(const std::vector<const Stage*>& stages) {
  for (const Stage* stage : stages) {
    if (stage->op()->As<ScanOp>() != nullptr) {
      for (const Operation& op : ScanBody(*stage->op())) scan_of_.emplace(op.get(), stage);
    }
    for (const Stage::Step& step : stage->steps()) {
      if (step.kind == Stage::Step::kBind) threads_.insert_or_assign(step.from[0].var.get(), step.to[0]);
    }
  }
}

StagePlaces::Place StagePlaces::PlaceOf(const Stage& stage) const {
  if (const Stage::Attachment* place = stage.place()) return {place->consumer, place->axis.var.get()};
  const auto scan = scan_of_.find(stage.op().get());
  if (scan == scan_of_.end()) return {};
  return {scan->second, scan->second->op()->As<ScanOp>()->scan_axis.var.get()};
}

std::vector<IterVar> StagePlaces::PathOf(const Stage& stage) const {
  std::vector<IterVar> path;
  for (Place place = PlaceOf(stage); place.around != nullptr; place = PlaceOf(*place.around)) {
    const std::vector<IterVar>& leaves = place.around->leaf_iter_vars();
    bool is_around = false;
    for (size_t i = leaves.size(); i-- > 0;) {
      is_around |= leaves[i].var.get() == place.axis;
      if (is_around) path.push_back(leaves[i]);
    }
  }
  return path;
}

const IterVar* StagePlaces::ThreadOf(const IterVar& axis) const {
  const auto thread = threads_.find(axis.var.get());
  return thread == threads_.end() ? nullptr : &thread->second;
}

const std::string& StagePlaces::TagOf(const IterVar& axis) const {
  const IterVar* thread = ThreadOf(axis);
  return thread == nullptr ? axis.thread_tag : thread->thread_tag;
}

ThreadRank StagePlaces::RankOf(const std::string& tag) {
  if (tag.empty()) return ThreadRank::kNone;
  return tag.starts_with("blockIdx") ? ThreadRank::kBlock : ThreadRank::kThread;
}

std::string StagePlaces::ScopeOf(const Stage& stage) const {
  if (!stage.scope().empty()) return stage.scope();
  ThreadRank most = ThreadRank::kNone;
  for (const IterVar& axis : PathOf(stage)) most = std::max(most, RankOf(TagOf(axis)));
  return most == ThreadRank::kNone ? "global" : most == ThreadRank::kBlock ? "shared" : "local";
}

}  // namespace lathe::te
