// What primitives that put a copy of a buffer between blocks have in common.
#pragma once

#include <functional>
#include <vector>

#include "compiler/schedule/schedule.h"

namespace lathe {

// Which of a block's buffers an index counts.
enum class BufferSide : uint8_t { kRead, kWrite };

// An error of `primitive` unless block `row` is in a scope and touches an index-th buffer on that side.
Status CheckBufferIndex(const Schedule& schedule, int row, const char* primitive, int index, BufferSide side);

// The child of the scope's body before which a copy of `buffer` for block `row` goes: right after the nest that makes
// it, or first. An error of `primitive` if the buffer has several writers, or `row` is in that nest.
StatusOr<size_t> PlaceBeforeReader(const Schedule& schedule, int row, const Buffer& buffer, const char* primitive);

// Replaces each block of `rows`, all of one scope, by change(block), puts `copy` at `place` among the children of the
// scope's body, and lets the scope allocate `cache`. An error of `primitive` if a marked loop around them could then no
// longer run its iterations at once.
Status InsertCopy(Schedule& schedule, const std::vector<int>& rows, const std::function<Block(const Block&)>& change,
                  Stmt copy, size_t place, const Buffer& cache, const char* primitive);

}  // namespace lathe
