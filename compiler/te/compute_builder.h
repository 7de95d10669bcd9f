// Functions of tensors that are described one after the other, for those who think in buffers and need no graph: the
// importers. Workloads are known by what it makes, so its text stays what it is: nothing is simplified, the identities
// of kMin and kMax are calls.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/te/operation.h"
#include "compiler/te/reduction.h"

namespace lathe::te {

using Axes = std::vector<Expr>;
using ReducedValue = std::function<Expr(const Axes& point, const Axes& reduced)>;

// What the reduction of nothing gives: 0, or T.min_value or T.max_value of the type.
Expr Identity(Combiner combiner, DataType type);

// Names of the loops: spatial, then reduction; "ax0", "ax1" ... and "k0", "k1" ... where there are fewer names than
// axes.
struct AxisNames {
  std::vector<std::string> spatial, reduced;
};

// Collects the computations of one function in order. Extents of 0 are allowed, and so are tensors without dimensions.
class ComputeBuilder {
 public:
  Buffer Input(std::string name, std::vector<Expr> shape, DataType dtype);
  // buffer[point] = value(point) for every point of `shape`. The element type is the value's.
  Buffer Compute(const std::string& name, const std::vector<Expr>& shape, const PointValue& value,
                 const AxisNames& names = {});
  // buffer[point] = combination of value(point, reduced) over all `reduced` in `extents`.
  Buffer Reduce(const std::string& name, const std::vector<Expr>& shape, const std::vector<Expr>& extents,
                Combiner combiner, const ReducedValue& value, const AxisNames& names = {});
  // The function of all that was collected: parameters are the inputs in order, then `output`.
  PrimFunc Build(std::string name, const Buffer& output) const;

 private:
  Buffer Add(const Tensor& tensor);

  std::vector<Buffer> inputs_;
  std::vector<Tensor> computed_;
};

}  // namespace lathe::te
