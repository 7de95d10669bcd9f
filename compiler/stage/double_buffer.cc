#include "compiler/stage/double_buffer.h"

#include <optional>
#include <utility>
#include <vector>

#include "compiler/ir/visitor.h"

namespace lathe::te {
namespace {

// The memory that all blocks of a statement fill, where that is one, and double.
class FilledMemory : public StmtExprVisitor {
 public:
  static std::optional<Var> Of(const Stmt& stmt) {
    FilledMemory memory;
    memory(stmt);
    return memory.is_other_ ? std::nullopt : memory.found_;
  }

 protected:
  void VisitBlock(const Block& block) override {
    const size_t before = ++num_blocks_;
    if (block->annotations.contains("double_buffer_scope")) return Note(block->writes[0].buffer->data);
    StmtExprVisitor::VisitBlock(block);
    is_other_ |= num_blocks_ == before;
  }

 private:
  void Note(const Var& data) {
    is_other_ |= found_ && !found_->same_as(data);
    found_ = data;
  }

  size_t num_blocks_ = 0;
  std::optional<Var> found_;
  bool is_other_ = false;
};

class Marker : public StmtExprMutator {
 protected:
  Stmt VisitStmt(const Stmt& stmt) override {
    if (const std::optional<Var> memory = FilledMemory::Of(stmt)) return Marked(*memory, {stmt});
    const Seq* seq = stmt.As<Seq>();
    return seq == nullptr ? StmtExprMutator::VisitStmt(stmt) : VisitSeq(*seq);
  }

 private:
  static Stmt Marked(const Var& memory, std::vector<Stmt> stmts) {
    return AttrStmt{"double_buffer_scope", IntConst(kIndexType, 1), Attr(Expr(memory)), MakeSeq(std::move(stmts))};
  }
  // Statements behind each other that fill one memory are marked together.
  Stmt VisitSeq(const Seq& seq) {
    std::vector<Stmt> stmts;
    for (size_t i = 0; i < seq.stmts.size();) {
      const std::optional<Var> memory = FilledMemory::Of(seq.stmts[i]);
      std::vector<Stmt> together = {seq.stmts[i++]};
      if (!memory) {
        stmts.push_back(VisitStmt(together[0]));
        continue;
      }
      for (; i < seq.stmts.size() && FillsIt(seq.stmts[i], *memory); ++i) together.push_back(seq.stmts[i]);
      stmts.push_back(Marked(*memory, std::move(together)));
    }
    return MakeSeq(std::move(stmts));
  }
  static bool FillsIt(const Stmt& stmt, const Var& memory) {
    const std::optional<Var> filled = FilledMemory::Of(stmt);
    return filled && filled->same_as(memory);
  }
};

}  // namespace

Stmt MarkDoubleBuffers(const Stmt& stmt) { return Marker()(stmt); }

}  // namespace lathe::te
