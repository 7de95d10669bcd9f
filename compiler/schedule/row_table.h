// The loops and blocks of statements, one row each: what handles and facts refer to while trees are rewritten.
//
// A row is found by what lasts: a loop by its variable, a block by its node. Rows point into trees that somebody else
// holds; the table is numbers and addresses only, so that copying it costs next to nothing. Rows of what is gone are
// used again; a generation tells their old handles from the new ones.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/stmt.h"

namespace lathe {

// After a replacement, what was row `row` is block `block` of the new statement.
struct BlockReuse {
  int row;
  Block block;
};

class RowTable {
 public:
  struct Row {
    const StmtNode* node = nullptr;  // A For or a BlockRealize; nullptr while the row stands for nothing.
    const void* key = nullptr;       // The loop's variable or the BlockNode.
    int parent = -1, first_child = -1, next_sibling = -1;
    int next_in_bucket = -1, next_named = -1;
    uint32_t name_hash = 0;   // Of a block's name.
    uint32_t generation = 0;  // How many statements this row has outlived.
    uint32_t placed_at = 0;   // The replacement in which it was last found,
    uint32_t changed_at = 0;  // and in which something at or below it was last replaced.
    bool is_loop = false;
    bool is_whole = false;   // In that replacement its node was as it had been.
    bool is_direct = false;  // Between it and the parent is nothing but a sequence: no if, while, let or init.
  };
  // What a replacement did to rows.
  struct Change {
    int row;
    const StmtNode* before;  // nullptr: the row is new. Lives as long as the statement that was replaced.
  };
  using Rows = boost::container::small_vector<int, 16>;
  struct Changes {
    Rows tops;                                              // Where the replaced row was, in order of the program.
    boost::container::small_vector<Change, 16> made, gone;  // made: new, or the same loop or block with another node.
    Rows moved;  // The node is as it was, so is all below it; what is above may be another.
  };

  // Adds all of `body`, a root block, in order of the program. Returns its row, or -1 if a loop variable or a block
  // occurs twice, and then the table is of no use any more.
  int Add(const Stmt& body);

  // Puts `replacement` where row's statement is in `root`, the body that Add was given, and finds the rows anew: below
  // the replacement only, and not below nodes that are as they were. A loop is followed by its variable; a block by its
  // node, else by `reuse`, else by its name if one of that name is gone and one new; the root block is always followed.
  // Nodes above are changed in place unless others hold them. CHECKs that no variable or block comes to stand twice.
  Changes Replace(Stmt& root, int row, Stmt replacement, const std::vector<BlockReuse>& reuse);

  // Changes row's statement itself, in what no row rests on: what kind of loop it is, annotations. Nodes above and it
  // are changed in place unless others hold them.
  template <typename F>
  void Edit(Stmt& root, int row, F edit) {
    Stmt& own = OwnStmt(root, row);
    edit(own.MutableNode());
    SetNode(row, own.get());
  }

  uint32_t num_replacements() const { return replacements_; }
  size_t size() const { return rows_.size(); }  // The rows that are gone included.
  const Row& operator[](int row) const { return rows_[row]; }
  bool IsLive(int row, uint32_t generation) const {
    return row >= 0 && row < static_cast<int>(rows_.size()) && rows_[row].generation == generation &&
           rows_[row].node != nullptr;
  }
  int Find(const void* key) const;                            // -1 if there is none.
  std::vector<int> BlocksNamed(std::string_view name) const;  // In no order.
  bool IsAtOrBelow(int row, int top) const;
  // The first that does not hold of what this class promises about `root`, in words; empty if all does. For tests.
  std::string Inconsistency(const Stmt& root, int root_row) const;

 private:
  // A loop or block of the replacement.
  struct Place {
    const StmtNode* node;
    int row;
    int parent;     // Index of a Place; -1: where the replaced row was.
    bool is_whole;  // The row's node is as it was.
    bool is_direct;
  };
  using Places = boost::container::small_vector<Place, 32>;
  bool Collect(const Stmt& stmt, int parent, bool is_direct, int below, Places& places, Rows& fresh);
  void CollectGone(int row, Rows& gone) const;
  void FollowBlocks(Places& places, Rows& fresh, Rows& gone, const std::vector<BlockReuse>& reuse);
  void TakeOver(Place& place, int old_row, Rows& fresh, Rows& gone);
  void Link(const Places& places, int parent, int before, int after, bool is_direct);
  template <typename F>
  void Descend(Stmt& root, int row, F f);
  void Splice(Stmt& root, int row, Stmt replacement);
  Stmt& OwnStmt(Stmt& root, int row);

  int NewRow(const StmtNode* node, const void* key);
  void Forget(int row);
  void SetNode(int row, const StmtNode* node);
  void Insert(int row);
  void Erase(int row);
  void Grow();
  void InsertName(int row);
  void EraseName(int row);
  size_t BucketOf(const void* key) const;

  std::vector<Row> rows_;
  std::vector<int> buckets_;  // Chained by next_in_bucket; a power of two.
  std::vector<int> named_;    // Blocks by the hash of their name, chained by next_named; as many.
  int free_ = -1;             // Rows that stand for nothing, chained by next_sibling.
  uint32_t replacements_ = 0;
};

}  // namespace lathe
