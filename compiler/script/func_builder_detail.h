// Members of FuncBuilder that its two source files share.
#pragma once

#include "compiler/script/func_builder.h"

namespace lathe {

// Parameters of T.Buffer and its like.
inline constexpr std::string_view kBufferParams[] = {"shape",       "dtype",          "data",  "strides",
                                                     "elem_offset", "scope",          "align", "offset_factor",
                                                     "buffer_type", "axis_separators"};
inline constexpr size_t kDataParam = 2;

// Lets and allocations without "with" hold for the rest of their suite: they are opened here and closed at its end.
struct FuncBuilder::Suite {
  struct OpenLet {
    Var var;
    Expr value;
  };
  struct OpenAllocate {
    Buffer buffer;
  };
  struct OpenDeclare {
    Buffer buffer;
  };
  using What = std::variant<OpenLet, OpenAllocate, OpenDeclare, Allocate, AllocateConst, AttrStmt, AssertStmt,
                            BufferRealize>;  // Bodies to come.
  struct Open {
    What what;
    size_t begin;  // The statements from here on are its body.
  };
  std::vector<Stmt> stmts;
  std::vector<Open> opened;

  static Stmt Sequence(std::vector<Stmt> stmts) {
    return stmts.empty() ? Stmt(Evaluate{0}) : MakeSeq(std::move(stmts));
  }
  template <typename Node>
  static Stmt WithBody(Node node, Stmt body) {
    node.body = std::move(body);
    return node;
  }
  static Stmt Wrap(const What& what, Stmt body) {
    if (const OpenLet* let = std::get_if<OpenLet>(&what)) return LetStmt{let->value, let->var, std::move(body)};
    if (const OpenDeclare* declare = std::get_if<OpenDeclare>(&what))
      return DeclBuffer{declare->buffer, std::move(body)};
    if (const Allocate* allocate = std::get_if<Allocate>(&what)) return WithBody(*allocate, std::move(body));
    if (const AllocateConst* allocate = std::get_if<AllocateConst>(&what)) return WithBody(*allocate, std::move(body));
    if (const AssertStmt* check = std::get_if<AssertStmt>(&what)) return WithBody(*check, std::move(body));
    if (const AttrStmt* attr = std::get_if<AttrStmt>(&what)) return WithBody(*attr, std::move(body));
    if (const BufferRealize* realize = std::get_if<BufferRealize>(&what)) return WithBody(*realize, std::move(body));
    return AllocBuffer{std::get<OpenAllocate>(what).buffer, std::move(body)};
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
  bool has_reads = false, has_writes = false, has_where = false, has_attrs = false;
  int suite_depth = 0;
};

struct FuncBuilder::ParsedMacro {
  std::shared_ptr<const ScriptMacro> macro;
  Source source;  // Of the macro's text.
  PyFile file;
  ScriptContext context;
  const PyStmt* definition = nullptr;
};
struct FuncBuilder::MacroUse {
  const PyStmt* definition = nullptr;      // nullptr: it is no macro.
  const ParsedMacro* elsewhere = nullptr;  // nullptr: in this text.
};

struct FuncBuilder::StepOf {
  Expr start, step;
};
struct FuncBuilder::LoopHeader {
  Range range;
  DataType type;
  ForKind kind = ForKind::kSerial;
  std::string thread;
  AttrMap annotations;
  std::optional<StepOf> step;
};

}  // namespace lathe
