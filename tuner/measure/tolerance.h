// How far an output may be from its float64 reference: as far as rounding takes it. Pure.
#pragma once

#include <span>

#include "compiler/ir/workload_facts.h"
#include "runtime/dtype.h"

namespace lathe {

// How far rounding may take an element of what `func` of these facts computes, as a share of the largest element: the
// root of the sum of (c * eps)^2 over all roundings. Errors of a sum grow like the root of its terms. c is 16 from 32
// bits on, which leaves room for other orders of summation, approximated functions and unlucky signs and is far below
// what a wrong index does; it is 1 for fewer bits, whose 16 eps would hide what is wrong. At most 1/4: where sums of
// very many terms are made in 16 bits nothing is right beyond that; make them in float32.
double RoundingOf(const WorkloadFacts& facts);

// Largest |out - reference| of an output of type `dtype`; 0 for exact types. To it comes the rounding of the output
// itself, which CompareOutput knows.
double ToleranceFor(const WorkloadFacts& facts, DType dtype, std::span<const double> reference);

}  // namespace lathe
