// Functions of two products, of which the second takes rows that are made from rows of the first: attention.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/schedule/schedule.h"
#include "compiler/target/target.h"

namespace lathe {

// C[.., row, column] = sum over step of data[.., row, step] * weight[.., step or column in any place ..], the columns
// by whole vectors.
struct ProductOfRows {
  std::string name;                      // Of its block.
  size_t row = 0, column = 0, step = 0;  // Positions among its iter vars; all others are batches.
  size_t weight = 0;                     // Position among what it reads.
  int64_t lanes = 0;                     // Of the columns.
};

struct ProductChain {
  ProductOfRows first, last;
  // From the sums of `first` to the data of `last`, producers first: reductions along rows and what is computed element
  // by element, but for the one element-wise consumer that `first` may have. The last one is no reduction.
  std::vector<std::string> between;
  std::optional<std::string> weight_of_first;  // What makes it, element by element: a transpose.
};

// nullopt: the function, whose data-parallel blocks are inlined already, is none.
std::optional<ProductChain> ProductChainOf(const Schedule& inlined, const Target& target);

}  // namespace lathe
