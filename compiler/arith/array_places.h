// Where an index map takes the elements of an array.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/arith/index_map.h"

namespace lathe {

struct ArrayPlaces {
  std::vector<int64_t> shape;   // Of the image.
  std::vector<int64_t> places;  // In the flat image, of each element of the array in row-major order.
};
// InvalidArgument: another number of dimensions, or an image that is no array of as many elements.
StatusOr<ArrayPlaces> PlacesOfArray(const IndexMap& map, const std::vector<int64_t>& shape);

}  // namespace lathe
