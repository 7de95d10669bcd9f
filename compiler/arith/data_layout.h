// Names of data layouts, as "NCHW16c": a capital letter is a dimension; a small one with a number is a part of the
// dimension of that letter, split off with that factor. And the way from one layout to another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/expr.h"
#include "support/status.h"

namespace lathe {

class DataLayout {
 public:
  struct Axis {
    char letter;
    std::optional<int64_t> factor;  // Of a small letter.
    bool is_whole() const { return !factor; }
  };
  // InvalidArgument: another character, a factor of less than 1 or of a capital letter, a letter twice, a part without
  // its dimension. "__undef__" and "" have no axes.
  static StatusOr<DataLayout> Parse(const std::string& name);

  const std::string& name() const { return name_; }
  const std::vector<Axis>& axes() const { return axes_; }
  // Its place; -1: there is none.
  int64_t IndexOf(char letter) const;
  // What is split off the dimension of this letter, capital or small: the product of all factors; -1: nothing.
  int64_t FactorOf(char letter) const;

 private:
  std::string name_;
  std::vector<Axis> axes_;
};

// From positions and shapes in one layout to those in another with the same dimensions.
class LayoutMap {
 public:
  // nullopt: one has no axes, or their dimensions differ.
  static std::optional<LayoutMap> Make(DataLayout from, DataLayout to);

  const DataLayout& from() const { return from_; }
  const DataLayout& to() const { return to_; }
  LayoutMap Inverse() const { return LayoutMap(to_, from_); }
  // InvalidArgument: another number of indices than `from` has axes.
  StatusOr<std::vector<Expr>> Index(const std::vector<Expr>& index) const;
  StatusOr<std::vector<Expr>> Shape(const std::vector<Expr>& shape) const;

 private:
  LayoutMap(DataLayout from, DataLayout to) : from_(std::move(from)), to_(std::move(to)) {}
  Status CheckCount(const std::vector<Expr>& values) const;

  DataLayout from_, to_;
};

}  // namespace lathe
