#include "tests/compiler/random/stages.h"

namespace lathe {

bool AddMap(Draft& draft) {
  const Shape shape = draft.RandomShape();
  if (draft.shared && shape[0] != draft.shared->extent) return false;
  const DataType type = draft.RandomType();
  Array& out = draft.NewArray(shape, type);
  draft.Add(MakeNest(draft, SpatialAxes(shape), {.may_repeat = true}, [&](const std::vector<Point>& points) {
    return Body{draft.Store(out, draft.RandomValue(points, type), IndicesOf(points, shape.size()))};
  }));
  out.filled = draft.shared ? Array::Filled::kRowsSoFar : Array::Filled::kAll;
  return true;
}

}  // namespace lathe
