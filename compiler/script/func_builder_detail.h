// Members of FuncBuilder that its two source files share.
#pragma once

#include "compiler/script/func_builder.h"

namespace lathe {

// Lets and allocations without "with" hold for the rest of their suite: they are opened here and closed at its end.
struct FuncBuilder::Suite {
  struct OpenLet {
    Var var;
    Expr value;
  };
  struct OpenAllocate {
    Buffer buffer;
  };
  struct Open {
    std::variant<OpenLet, OpenAllocate> what;
    size_t begin;  // The statements from here on are its body.
  };
  std::vector<Stmt> stmts;
  std::vector<Open> opened;

  static Stmt Sequence(std::vector<Stmt> stmts) {
    return stmts.empty() ? Stmt(Evaluate{0}) : MakeSeq(std::move(stmts));
  }
  static Stmt Wrap(const std::variant<OpenLet, OpenAllocate>& what, Stmt body) {
    if (const OpenLet* let = std::get_if<OpenLet>(&what)) return LetStmt{let->value, let->var, std::move(body)};
    return Allocate{std::get<OpenAllocate>(what).buffer, std::move(body)};
  }
  Stmt Close() {
    for (; !opened.empty(); opened.pop_back()) {
      const auto begin = stmts.begin() + std::ptrdiff_t(opened.back().begin);
      Stmt body = Sequence(std::vector<Stmt>(begin, stmts.end()));
      stmts.erase(begin, stmts.end());
      stmts.push_back(Wrap(opened.back().what, std::move(body)));
    }
    return Sequence(std::move(stmts));
  }
};

struct FuncBuilder::BlockFrame {
  BlockNode node;
  std::vector<Expr> iter_values;
  Expr predicate = True();
  bool has_reads = false, has_writes = false;
  int suite_depth = 0;
};

struct FuncBuilder::LoopHeader {
  Range range;
  DataType type;
  ForKind kind = ForKind::kSerial;
  std::string thread;
  AttrMap annotations;
};

}  // namespace lathe
