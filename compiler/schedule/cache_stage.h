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

// An error of `primitive` where the block is in the init of its scope: copies stand in bodies.
Status CheckNotInInit(const Schedule& schedule, int row, const char* primitive);

// Whether block `row`, without reductions, reads of `buffer` only what blocks in it have made in the same run.
bool MakesWhatItReads(const Schedule& schedule, int row, const Buffer& buffer);

// The one block of the scope that writes `buffer`, which block `row` reads; -1: nobody does. An error of `primitive` if
// there are several, or if it is not before `row`.
StatusOr<int> WriterBefore(const Schedule& schedule, int row, const Buffer& buffer, const char* primitive);

// The place of the first of `rows` in the scope, where there are any.
size_t PlaceOfFirst(const Schedule& schedule, int scope, const std::vector<int>& rows, size_t otherwise);
// Behind the last of `rows`, the writer among them, which use the cache; but nobody who reads the buffer itself may
// come before that.
size_t PlaceAfterConsumers(const Schedule& schedule, int writer, const std::vector<int>& rows, const Buffer& buffer);
// Behind the nest of `rows`, which use the cache, right before the first other reader of what `writer` makes, other
// results included; at the end of the scope where there is none. But nobody in between may have to do with the memory.
size_t PlaceBeforeOthers(const Schedule& schedule, int writer, const std::vector<int>& rows, const Buffer& buffer);

// `box` cut to what is inside of `full`, a buffer's shape: what predicates keep inside may stick out of boxes.
std::vector<Range> Inside(std::vector<Range> box, const std::vector<Range>& full, const Analyzer& analyzer);

// What the scope declares that it reads of `buffer`; all where it declares nothing, as the root block, or not all.
std::vector<Range> DeclaredRead(const Schedule& schedule, int scope, const Buffer& buffer);
// Where a scope does not declare all that it reads, a copy of all of `buffer` touches what others make: not in
// iterations that run at once.
Status CheckNobodyElseMakes(const Schedule& schedule, int scope, const Buffer& buffer, const char* primitive,
                            int place);
// Once there is such a copy: the blocks around the scope touch more than they declare, too, unless that is all of it.
void MarkBlocksAroundCopy(Schedule& schedule, int scope, const Buffer& buffer);

// Before the child of that number in the body of `above`: the scope, or a loop in it.
struct CopyPlace {
  int above;
  size_t child;
};

// Replaces each block of `rows`, all of one scope, by change(block), puts `copy` at `place`, and lets the scope
// allocate `cache`. An error of `primitive` if a marked loop around them could then no longer run its iterations at
// once.
Status InsertCopy(Schedule& schedule, const std::vector<int>& rows, const std::function<Block(const Block&)>& change,
                  Stmt copy, CopyPlace place, const Buffer& cache, const char* primitive);

}  // namespace lathe
