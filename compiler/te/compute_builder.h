// Makes PrimFuncs from element-wise descriptions, as TVM's te.compute does: one block per computed buffer, named as the
// buffer.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe::te {

using Axes = std::vector<Expr>;
using PointValue = std::function<Expr(const Axes& point)>;
using ReducedValue = std::function<Expr(const Axes& point, const Axes& reduced)>;

enum class Combiner : uint8_t { kSum, kMax, kMin };
// What the reduction of nothing gives: 0, or the least or greatest value of the type.
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
  std::vector<Buffer> inputs_, computed_;
  std::vector<Stmt> nests_;
};

}  // namespace lathe::te
