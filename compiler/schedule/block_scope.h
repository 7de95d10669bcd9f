// What the statements directly below one block, their scope, do to each other: TVM's BlockScope, and what happens
// outside of blocks.
//
// An actor is a child block or something outside of blocks. A child block does what it declares to read and write, and
// reads what its predicate and its bindings load. Outside of blocks, loads (in bounds, conditions, lets, values) and
// stores count one by one, at the innermost loop around them, or at the scope; a call with an effect there is opaque.
// Buffers are told apart by their memory: a view (match_buffer) is its source.
#pragma once

#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/schedule/pointer_index.h"

namespace lathe {

class Schedule;

// How `dst`, the later in the text, depends on `src`: it reads what that wrote, writes what that wrote, writes what
// that read, or one of them does what nobody can tell.
enum class DepKind : uint8_t { kRAW, kWAW, kWAR, kOpaque };
struct Dependency {
  int src, dst;  // Rows: child blocks, or where something outside of blocks is done.
  DepKind kind;
  bool operator==(const Dependency&) const = default;
};

// What a block's body and init load and store, whatever blocks in it declare; not what is allocated inside.
struct TouchedBuffers {
  std::vector<Buffer> loaded, stored;
};
TouchedBuffers BuffersTouchedIn(const BlockNode& block);

class BlockScope {
 public:
  // `before`, if given, is what it was before some replacements: what is known of nests that none of them touched is
  // taken over.
  BlockScope(const Schedule& schedule, int scope_row, const BlockScope* before = nullptr);
  bool SaysTheSameAs(const BlockScope& other) const;  // For tests.

  // Child blocks in order of the text.
  const std::vector<int>& children() const { return children_; }
  // Dependences of what is done at row `row` with what comes later, in order of the text; and with what came earlier,
  // by its own regions, reads first, then in order of the text. None of a row with itself, none twice.
  std::vector<Dependency> DepsBySrc(int row) const;
  std::vector<Dependency> DepsByDst(int row) const;
  // Child blocks that write (read) the memory of `buffer`, in order of the text.
  std::vector<int> WritersOf(const Buffer& buffer) const { return BlocksThat(true, buffer); }
  std::vector<int> ReadersOf(const Buffer& buffer) const { return BlocksThat(false, buffer); }
  // Whether the memory of `buffer` is written outside of blocks, or something opaque is done there.
  bool IsWrittenOutside(const Buffer& buffer) const;
  // Where it is read by no block's body: rows of the innermost loops around (or the scope) and of blocks that are bound
  // or guarded by it, in order of the text.
  std::vector<int> RowsThatReadOutside(const Buffer& buffer) const;
  // Whether child block `a` stands before child block `b`.
  bool IsBefore(int a, int b) const { return FirstAt(a) < FirstAt(b); }
  // Whether the order of the text is nowhere such that something is overwritten that was read before, or opaque.
  // Together with the region cover of all children it makes a stage pipeline (Schedule::IsStagePipeline).
  bool HasWarOrOpaque() const { return has_war_or_opaque_; }

 private:
  friend class ActorCollector;
  struct Actor {
    int row;
    bool is_block;
    bool is_opaque = false;
    int first_note = 0;  // What it touches: from this note to the first one of the next actor.
    int next_here = -1;  // The next actor at the same row.
  };
  struct Touch {  // One region or load or store.
    int actor;
    bool is_write;
    bool is_declared;  // By a block.
  };
  struct Part {  // One loop or block directly below the scope.
    int row;
    size_t first_actor, end_actor, first_note, end_note;
  };
  using Fact = std::tuple<int, const void*, bool, bool>;  // What an actor does to some memory.
  std::set<Fact> Facts() const;
  const Part* FindPart(int row, size_t& hint) const;  // The search begins at `hint`, which then is behind it.
  void TakeOver(const BlockScope& before, const Part& part);
  const ExprNode* MemoryOf(const Buffer& buffer) const;
  std::span<const Touch> TouchesOf(int memory) const;
  std::span<const Touch> TouchesOf(const Buffer& buffer) const;
  std::vector<int> BlocksThat(bool write, const Buffer& buffer) const;
  std::vector<Dependency> Deps(int row, bool by_src) const;
  void Relate(int actor, bool later, std::vector<std::pair<int, DepKind>>& found) const;
  int FirstAt(int row) const { return row >= 0 && row < static_cast<int>(first_at_.size()) ? first_at_[row] : -1; }
  void Note(int actor, const Buffer& buffer, bool is_write, bool is_declared);
  void SortTouches();
  void ChainActors(size_t num_rows);

  std::vector<int> children_;
  std::vector<Actor> actors_;  // In order of the text.
  std::vector<int> opaque_;    // Actors.
  PointerIndex memories_;
  std::vector<int> notes_;                                          // In order of the text: the memory that is touched.
  std::vector<Touch> noted_;                                        // By note.
  std::vector<Touch> touches_;                                      // By memory, and then in order of the text.
  std::vector<int> first_touch_;                                    // By memory, and one more: the end.
  std::vector<int> first_at_;                                       // By row, the first actor there; -1: none.
  std::vector<std::pair<const ExprNode*, const ExprNode*>> views_;  // View -> memory.
  std::vector<Part> parts_;                                         // In order of the text.
  uint32_t built_at_;                                               // After so many replacements.
  bool has_war_or_opaque_ = false;
};

// Whether a load, a store or a call with an effect stands in `stmt` outside of blocks, or in what realizes a block.
bool TouchesMemoryOutsideBlocks(const Stmt& stmt);

}  // namespace lathe
