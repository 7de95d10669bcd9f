#include "compiler/arith/array_places.h"

#include <fmt/format.h>

#include "compiler/ir/visitor.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// The element at `place` of an array, index by index.
VarMap PointAt(const IndexMap& map, const std::vector<int64_t>& shape, int64_t place) {
  VarMap point;
  for (size_t d = shape.size(); d-- > 0; place /= shape[d])
    point.emplace(map.initial_indices[d].get(), IntConst(map.initial_indices[d].dtype(), place % shape[d]));
  return point;
}

int64_t SizeOf(const std::vector<int64_t>& shape) {
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  return size;
}

}  // namespace

StatusOr<ArrayPlaces> PlacesOfArray(const IndexMap& map, const std::vector<int64_t>& shape) {
  const Analyzer analyzer;
  std::vector<Expr> extents;
  for (size_t d = 0; d < shape.size(); ++d)
    extents.push_back(d < map.initial_indices.size() ? IntConst(map.initial_indices[d].dtype(), shape[d])
                                                     : Expr(shape[d]));
  ASSIGN_OR_RETURN(const std::vector<Expr> image, map.MapShape(extents, analyzer));
  const std::optional<std::vector<int64_t>> known = ConstantShape(image);
  const int64_t size = SizeOf(shape);
  if (!known || SizeOf(*known) != size)
    return InvalidArgument(fmt::format("map array: expected an image of {} elements; pad the array before", size));
  ArrayPlaces result{*known, {}};
  for (int64_t i = 0; i < size; ++i) {
    const VarMap point = PointAt(map, shape, i);
    int64_t place = 0;
    for (size_t d = 0; d < known->size(); ++d) {
      const Expr index = analyzer.Simplify(Substitute(map.final_indices[d], point));
      const int64_t* value = AsIntConst(index);
      if (value == nullptr || *value < 0 || *value >= (*known)[d])
        return InvalidArgument("map array: an index of the map is no number inside of its image");
      place = place * (*known)[d] + *value;
    }
    result.places.push_back(place);
  }
  return result;
}

}  // namespace lathe
