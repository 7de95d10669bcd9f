#include "compiler/relax/op/winograd.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/relax/op/arguments.h"
#include "compiler/relax/op/rows.h"
#include "compiler/relax/transform/annotate_tir_op_pattern.h"
#include "support/status_macros.h"

namespace lathe::relax {
namespace {

using Matrix = std::vector<std::vector<double>>;

struct Transforms {
  Matrix data, weight, inverse;  // B^T, G, A^T.
};

const Transforms& TransformsOf(int64_t tile) {
  static const Transforms kTwo = {{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                                  {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
                                  {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  static const Transforms kFour = {
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{1.0 / 4, 0, 0},
       {-1.0 / 6, -1.0 / 6, -1.0 / 6},
       {-1.0 / 6, 1.0 / 6, -1.0 / 6},
       {1.0 / 24, 1.0 / 12, 1.0 / 6},
       {1.0 / 24, -1.0 / 12, 1.0 / 6},
       {0, 0, 1}},
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
  return tile == 2 ? kTwo : kFour;
}

int64_t TilesFor(int64_t extent, int64_t tile) { return (extent + tile - 1) / tile; }

StatusOr<int64_t> TileOf(const Call& call) {
  const int64_t tile = IntAttr(call.attrs, "tile", 0);
  if (tile == 2 || tile == 4) return tile;
  return ArgumentError(call, fmt::format("a tile of {}; 2 or 4 required", tile));
}

// Extents of the argument, of which there must be `rank`.
StatusOr<std::vector<int64_t>> ExtentsOf(const Call& call, size_t arg, size_t rank) {
  ASSIGN_OR_RETURN(const TensorStructInfo info, TensorInfo(call, arg));
  if (info.dtype != DataType::Float(32) || static_cast<size_t>(info.ndim) != rank)
    return ArgumentError(call,
                         fmt::format("argument {} is {}; {} dimensions of float32 required", arg, ToText(info), rank));
  return ConstantExtents(call, info);
}

// Attribute padding: begins, then ends.
StatusOr<StructInfo> InferDataPack(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t tile, TileOf(call));
  ASSIGN_OR_RETURN(const std::vector<int64_t> data, ExtentsOf(call, 0, 5));
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads, IntsAttrOr(call, "padding", 4, 0));
  const int64_t rows = data[2] + pads[0] + pads[2] - 2, columns = data[3] + pads[1] + pads[3] - 2;
  if (rows < 1 || columns < 1 || *std::min_element(pads.begin(), pads.end()) < 0)
    return ArgumentError(
        call, fmt::format("pads [{}] of {} x {} pixels leave no result", fmt::join(pads, ", "), data[2], data[3]));
  return TensorResult(
      call, ToPrimShape({tile + 2, tile + 2, data[0], data[1], TilesFor(rows, tile), TilesFor(columns, tile), data[4]}),
      DataType::Float(32));
}

StatusOr<StructInfo> InferBgemm(const Call& call) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> data, ExtentsOf(call, 0, 7));
  ASSIGN_OR_RETURN(const std::vector<int64_t> weight, ExtentsOf(call, 1, 6));
  if (weight[0] != data[0] || weight[1] != data[1] || weight[3] != data[3] || weight[4] != data[6])
    return ArgumentError(call, fmt::format("data [{}] and weights [{}] differ in products or input channels",
                                           fmt::join(data, ", "), fmt::join(weight, ", ")));
  return TensorResult(call, ToPrimShape({data[0], data[1], data[2], weight[2], data[4], data[5], weight[5]}),
                      DataType::Float(32));
}

// Attribute output_size: rows and columns.
StatusOr<StructInfo> InferInverse(const Call& call) {
  ASSIGN_OR_RETURN(const int64_t tile, TileOf(call));
  ASSIGN_OR_RETURN(const std::vector<int64_t> data, ExtentsOf(call, 0, 7));
  ASSIGN_OR_RETURN(const std::vector<int64_t> size, IntsAttrOr(call, "output_size", 2, 0));
  if (data[0] != tile + 2 || data[1] != tile + 2 || TilesFor(size[0], tile) != data[4] ||
      TilesFor(size[1], tile) != data[5])
    return ArgumentError(call, fmt::format("[{}] are not the products of {} x {} pixels in tiles of {}",
                                           fmt::join(data, ", "), size[0], size[1], tile));
  return TensorResult(call, ToPrimShape({data[2], data[3], size[0], size[1], data[6]}), DataType::Float(32));
}

using At = std::function<PrimExpr(size_t i)>;

// The sum of row[i] * value(i), without what is multiplied by 0.
PrimExpr WeightedSum(const std::vector<double>& row, const At& value) {
  std::optional<PrimExpr> sum;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] == 0) continue;
    const double size = std::abs(row[i]);
    const PrimExpr term = size == 1 ? value(i) : value(i) * ConstOf(DataType::Float(32), size);
    if (!sum)
      sum = row[i] > 0 ? term : ConstOf(DataType::Float(32), 0) - term;
    else
      sum = row[i] > 0 ? *sum + term : *sum - term;
  }
  return *sum;
}

// value(index) for an index that is known when its loop is unrolled.
PrimExpr Choose(const PrimExpr& index, size_t count, const At& value) {
  PrimExpr chosen = value(count - 1);
  for (size_t i = count - 1; i-- > 0;)
    chosen = MakeSelect(Equal(index, PrimExpr(static_cast<int64_t>(i))), value(i), chosen);
  return chosen;
}

// (matrix x transposed(matrix))[row, column] for a matrix of rows by values(i, j).
PrimExpr TransformAt(const Matrix& matrix, const PrimExpr& row, const PrimExpr& column,
                     const std::function<PrimExpr(size_t i, size_t j)>& value) {
  return Choose(row, matrix.size(), [&](size_t r) {
    return WeightedSum(matrix[r], [&](size_t i) {
      return Choose(column, matrix.size(),
                    [&](size_t c) { return WeightedSum(matrix[c], [&](size_t j) { return value(i, j); }); });
    });
  });
}

// What the function reads is read by many of its elements: it looks injective, and is not to be computed again by each.
PrimFunc WithPattern(PrimFunc func, const Call& call) {
  func.attrs[kOpPatternAttr] = static_cast<int64_t>(call.op->pattern);
  return func;
}

StatusOr<PrimFunc> LegalizeDataPack(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  const Buffer data = MakeInputs(builder, call, {"data"})[0];
  ASSIGN_OR_RETURN(const int64_t tile, TileOf(call));
  ASSIGN_OR_RETURN(const std::vector<int64_t> extents, ExtentsOf(call, 0, 5));
  ASSIGN_OR_RETURN(const std::vector<int64_t> pads, IntsAttrOr(call, "padding", 4, 0));
  const PrimShape& shape = *result.As<TensorStructInfo>()->shape;
  const auto pack = [&](const te::Axes& point) {
    // Pixel i, j of the tile; 0 in the border and beyond.
    const auto pixel = [&](size_t i, size_t j) {
      te::Axes at = {point[2], point[3], point[4], point[5], point[6]};
      PrimExpr inside = True();
      for (const size_t d : {0, 1}) {
        const int64_t tiles = *AsIntConst(shape[4 + d]), offset = static_cast<int64_t>(d == 0 ? i : j) - pads[d];
        at[2 + d] = point[4 + d] * PrimExpr(tile) + PrimExpr(offset);
        if (offset < 0) inside = And(inside, LessEqual(PrimExpr(0), at[2 + d]));
        if ((tiles - 1) * tile + offset >= extents[2 + d])
          inside = And(inside, Less(at[2 + d], PrimExpr(extents[2 + d])));
      }
      const PrimExpr value = Load(data, at);
      return IsConstInt(inside, 1)
                 ? value
                 : lathe::MakeCall(data->dtype, "if_then_else", {inside, value, ConstOf(data->dtype, 0)});
    };
    return TransformAt(TransformsOf(tile).data, point[0], point[1], pixel);
  };
  return WithPattern(
      builder.Build("winograd_data_pack",
                    builder.Compute("data_pack", shape, pack, {{"eps", "nu", "n", "c", "ty", "tx", "b"}, {}})),
      call);
}

StatusOr<PrimFunc> LegalizeBgemm(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  const std::vector<Buffer> inputs = MakeInputs(builder, call, {"data", "weight"});
  const auto product = [&](const te::Axes& point, const te::Axes& reduced) {
    const te::Axes from = {point[0], point[1], point[2], reduced[0], point[4], point[5], reduced[1]};
    const te::Axes with = {point[0], point[1], point[3], reduced[0], reduced[1], point[6]};
    return Load(inputs[0], from) * Load(inputs[1], with);
  };
  return builder.Build(
      "winograd_bgemm",
      builder.Reduce("bgemm", *result.As<TensorStructInfo>()->shape, {inputs[1]->shape[3], inputs[1]->shape[4]},
                     te::Combiner::kSum, product, {{"eps", "nu", "n", "k", "ty", "tx", "b"}, {"rc", "rb"}}));
}

StatusOr<PrimFunc> LegalizeInverse(const Call& call, const StructInfo& result) {
  te::ComputeBuilder builder;
  const Buffer data = MakeInputs(builder, call, {"data"})[0];
  ASSIGN_OR_RETURN(const int64_t tile, TileOf(call));
  const auto inverse = [&](const te::Axes& point) {
    const PrimExpr size(tile);
    return TransformAt(
        TransformsOf(tile).inverse, FloorMod(point[2], size), FloorMod(point[3], size), [&](size_t i, size_t j) {
          return Load(data, {PrimExpr(static_cast<int64_t>(i)), PrimExpr(static_cast<int64_t>(j)), point[0], point[1],
                             FloorDiv(point[2], size), FloorDiv(point[3], size), point[4]});
        });
  };
  return WithPattern(builder.Build("winograd_inverse", builder.Compute("inverse", *result.As<TensorStructInfo>()->shape,
                                                                       inverse, {{"n", "k", "y", "x", "b"}, {}})),
                     call);
}

constexpr Op kWinogradOps[] = {
    {"nn.winograd_bgemm", 2, OpPatternKind::kOutEWiseFusable, InferBgemm, LegalizeBgemm, "winograd_bgemm"},
    {"nn.winograd_data_pack", 1, OpPatternKind::kOpaque, InferDataPack, LegalizeDataPack, "winograd_data_pack"},
    {"nn.winograd_inverse", 1, OpPatternKind::kOutEWiseFusable, InferInverse, LegalizeInverse, "winograd_inverse"},
};

}  // namespace

std::span<const Op> WinogradOps() { return kWinogradOps; }

int64_t ChooseWinogradTile(const WinogradShape& shape) {
  constexpr double kPerWeight = 8;        // Multiply-adds in the time in which a weight comes from memory.
  constexpr double kPerTransformed = 20;  // And in which an element is transformed.
  constexpr double kLeastGain = 0.8;
  const auto in = static_cast<double>(shape.in_channels), out = static_cast<double>(shape.out_channels);
  const double direct = (static_cast<double>(shape.rows * shape.columns) + kPerWeight) * 9 * in * out;
  int64_t best = 0;
  double least = kLeastGain * direct;
  for (const int64_t tile : {2, 4}) {
    const auto tiles = static_cast<double>(TilesFor(shape.rows, tile) * TilesFor(shape.columns, tile));
    const auto products = static_cast<double>((tile + 2) * (tile + 2));
    const double cost = products * ((tiles + kPerWeight) * in * out + kPerTransformed * tiles * (in + out));
    if (cost < least) best = tile, least = cost;
  }
  return best;
}

TensorData WinogradWeights(const TensorData& weight, int64_t tile, int64_t in_block, int64_t out_block) {
  const Matrix& g = TransformsOf(tile).weight;
  const int64_t outputs = weight.shape()[0], inputs = weight.shape()[1];
  const auto side = static_cast<int64_t>(g.size());
  const std::span<const float> from = weight.as<float>();
  std::vector<float> to(static_cast<size_t>(side * side * outputs * inputs));
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      const float* taps = &from[static_cast<size_t>((o * inputs + i) * 9)];
      for (int64_t place = 0; place < side * side; ++place) {
        double sum = 0;
        for (size_t tap = 0; tap < 9; ++tap)
          sum +=
              g[static_cast<size_t>(place / side)][tap / 3] * taps[tap] * g[static_cast<size_t>(place % side)][tap % 3];
        const int64_t block = (place * (outputs / out_block) + o / out_block) * (inputs / in_block) + i / in_block;
        to[static_cast<size_t>((block * in_block + i % in_block) * out_block + o % out_block)] =
            static_cast<float>(sum);
      }
    }
  }
  return TensorData::From(DataType::Float(32),
                          {side, side, outputs / out_block, inputs / in_block, in_block, out_block}, to);
}

}  // namespace lathe::relax
