#include "compiler/schedule/annotate.h"

#include <fmt/core.h>

#include "support/status_macros.h"

namespace lathe {
namespace {

// Changes the annotations of a loop or block with `edit`.
template <typename Edit>
void EditAnnotations(Schedule& schedule, int row, Edit edit) {
  schedule.Edit(row, [&](StmtNode& node) {
    if (For* loop = std::get_if<For>(&node.value)) return edit(loop->annotations);
    edit(std::get<BlockRealize>(node.value).block.Mutable().annotations);
  });
}

TraceInput InputOf(const Attr& value) {
  if (const int64_t* number = std::get_if<int64_t>(&value)) return *number;
  if (const std::string* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* list = std::get_if<std::vector<Attr>>(&value)) {
    std::vector<int64_t> numbers;
    for (const Attr& item : *list)
      if (const int64_t* number = std::get_if<int64_t>(&item)) numbers.push_back(*number);
    if (numbers.size() == list->size()) return numbers;
  }
  return value;
}

template <typename RV>
Status AnnotateAny(Schedule& schedule, RV rv, const std::string& key, const Attr& value, TraceInput input) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(rv));
  EditAnnotations(schedule, row, [&](AttrMap& map) -> void { map.try_emplace(key, value); });
  schedule.Record("Annotate", {rv, std::move(input)}, {key}, {});
  return OkStatus();
}

// The list with the numbers that its variables stand for.
StatusOr<Attr> ValueOf(const Schedule& schedule, const TraceItems& items) {
  std::vector<Attr> values;
  for (const TraceItem& item : items) {
    if (const Attr* value = std::get_if<Attr>(&item.value)) {
      values.push_back(*value);
    } else if (const VarRV* var = std::get_if<VarRV>(&item.value)) {
      ASSIGN_OR_RETURN(const int64_t number, schedule.Get(ExprRV(*var)));
      values.emplace_back(number);
    } else {
      ASSIGN_OR_RETURN(Attr inner, ValueOf(schedule, std::get<TraceItems>(item.value)));
      values.push_back(std::move(inner));
    }
  }
  return Attr(std::move(values));
}

template <typename RV>
Status UnannotateAny(Schedule& schedule, RV rv, const std::string& key) {
  ASSIGN_OR_RETURN(const int row, schedule.RowOf(rv));
  const AttrMap& map = schedule.IsLoop(row) ? schedule.LoopOf(row).annotations : schedule.BlockOf(row).annotations;
  if (map.count(key) == 0)
    return NotFound(schedule.Error("unannotate", row, fmt::format("there is no annotation \"{}\"", key)).message());
  EditAnnotations(schedule, row, [&](AttrMap& annotations) -> void { annotations.erase(key); });
  schedule.Record("Unannotate", {rv}, {key}, {});
  return OkStatus();
}

}  // namespace

Status Annotate(Schedule& schedule, BlockRV block, const std::string& key, const Attr& value) {
  return AnnotateAny(schedule, block, key, value, InputOf(value));
}
Status Annotate(Schedule& schedule, LoopRV loop, const std::string& key, const Attr& value) {
  return AnnotateAny(schedule, loop, key, value, InputOf(value));
}
Status Annotate(Schedule& schedule, BlockRV block, const std::string& key, VarRV value) {
  ASSIGN_OR_RETURN(const int64_t number, schedule.Get(ExprRV(value)));
  return AnnotateAny(schedule, block, key, number, value);
}
Status Annotate(Schedule& schedule, LoopRV loop, const std::string& key, VarRV value) {
  ASSIGN_OR_RETURN(const int64_t number, schedule.Get(ExprRV(value)));
  return AnnotateAny(schedule, loop, key, number, value);
}
Status Annotate(Schedule& schedule, BlockRV block, const std::string& key, const TraceItems& items) {
  ASSIGN_OR_RETURN(const Attr value, ValueOf(schedule, items));
  return AnnotateAny(schedule, block, key, value, items);
}
Status Annotate(Schedule& schedule, LoopRV loop, const std::string& key, const TraceItems& items) {
  ASSIGN_OR_RETURN(const Attr value, ValueOf(schedule, items));
  return AnnotateAny(schedule, loop, key, value, items);
}
Status Unannotate(Schedule& schedule, BlockRV block, const std::string& key) {
  return UnannotateAny(schedule, block, key);
}
Status Unannotate(Schedule& schedule, LoopRV loop, const std::string& key) {
  return UnannotateAny(schedule, loop, key);
}

Status EnterPostproc(Schedule& schedule) {
  schedule.Record("EnterPostproc", {}, {}, {});
  return OkStatus();
}

}  // namespace lathe
