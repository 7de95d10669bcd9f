// FuncBuilder: loops, branches, blocks and other statements with a body.
#include <fmt/core.h>

#include "compiler/arith/simplifier.h"
#include "compiler/script/complete.h"
#include "compiler/script/dialect.h"
#include "compiler/script/func_builder_detail.h"
#include "support/status_macros.h"

namespace lathe {

Var FuncBuilder::DeclaredOrNew(std::string_view name, DataType type) {
  const NamedValue* known = names_.Find(name);
  const Expr* e = known == nullptr ? nullptr : std::get_if<Expr>(known);
  const bool is_declared = e != nullptr && e->dtype() == type && unbound_.erase(e->get()) != 0;
  return is_declared ? Var(*e) : Var(std::string(name), type);
}

StatusOr<Var> FuncBuilder::LoopVar(const PyExpr& target, DataType type, const Range& range) {
  if (target.kind != PyExprKind::kName) return Error(target, "expected a name for the loop variable");
  const Var var = DeclaredOrNew(target.text, type);
  RETURN_IF_ERROR(Define(target, Expr(var)));
  loop_ranges_.emplace(var.get(), range);
  return var;
}

namespace {

bool IsRange(const PyExpr& e) {
  return e.kind == PyExprKind::kCall && e.items[0]->kind == PyExprKind::kName && e.items[0]->text == "range";
}

}  // namespace

StatusOr<FuncBuilder::LoopHeader> FuncBuilder::BuildLoopHeader(const PyExpr& e) {
  LoopHeader header{{0, 0}, kIndexType};
  const bool is_range = IsRange(e);
  const std::string name = exprs_.CalleeName(e);
  const std::optional<ForKind> kind = is_range ? ForKind::kSerial : ForKindOf(name);
  if (!kind)
    return Error(e, "expected range, T.grid, T.serial, T.parallel, T.vectorized, T.unroll or T.thread_binding");
  header.kind = *kind;
  BoundArgs args;
  const PyExpr* step = nullptr;
  if (is_range) {
    ASSIGN_OR_RETURN(args, exprs_.Bind(e, {"start", "stop", "step"}, 1));
    step = args[2];
    args[2] = nullptr;
    args.resize(5, nullptr);
  } else if (*kind == ForKind::kThreadBinding) {
    ASSIGN_OR_RETURN(args, exprs_.Bind(e, {"start", "stop", "thread", "annotations", "dtype"}, 1));
    if (args[2] == nullptr && args[1] != nullptr && args[1]->kind == PyExprKind::kString)
      std::swap(args[1], args[2]);  // T.thread_binding(16, "threadIdx.x")
    if (args[2] == nullptr) return Error(e, "expected thread=\"threadIdx.x\" or another thread axis");
  } else {
    ASSIGN_OR_RETURN(args, exprs_.Bind(e, {"start", "stop", "annotations", "thread", "dtype", "step"}, 1));
    step = args[5];
    std::swap(args[2], args[3]);
  }
  ASSIGN_OR_RETURN(header.range,
                   args[1] != nullptr ? exprs_.BuildEnds(*args[0], *args[1]) : exprs_.BuildRange(*args[0]));
  // What TVM's parser does to the extent; a stored text stands for the tree that it was printed from.
  if (exprs_.context().evaluator != nullptr) header.range.extent = Simplifier().Simplify(header.range.extent);
  header.type = header.range.extent.dtype();
  if (step != nullptr) RETURN_IF_ERROR(BuildStep(*step, header));
  if (args[2] != nullptr) {
    ASSIGN_OR_RETURN(header.thread, exprs_.BuildString(*args[2]));
  }
  if (args[3] != nullptr) {
    ASSIGN_OR_RETURN(header.annotations, exprs_.BuildAttrs(*args[3]));
  }
  if (args[4] != nullptr) {
    ASSIGN_OR_RETURN(header.type, exprs_.BuildType(*args[4]));
  }
  return header;
}

// A loop with a step counts from 0; its name stands for start + counter * step.
Status FuncBuilder::BuildStep(const PyExpr& step, LoopHeader& header) {
  ASSIGN_OR_RETURN(const int64_t value, exprs_.BuildInt(step));
  if (value < 1) return Error(step, fmt::format("expected a step from 1, got {}", value));
  if (value == 1) return OkStatus();
  const DataType type = header.range.extent.dtype();
  header.step = StepOf{header.range.min, IntConst(type, value)};
  header.range.extent = FloorDiv(header.range.extent + IntConst(type, value - 1), IntConst(type, value));
  header.range.min = IntConst(type, 0);
  return OkStatus();
}

// kinds[0](4), T.serial(4, **options), the name of loops; nullptr: of anything else.
StatusOr<std::shared_ptr<const ScriptLoops>> FuncBuilder::LoopsOfProgram(const PyExpr& e) const {
  std::shared_ptr<const ScriptLoops> loops;
  const bool may_be = e.kind == PyExprKind::kName || (!IsRange(e) && exprs_.IsOutside(e));
  if (exprs_.context().evaluator == nullptr || !may_be) return loops;
  ASSIGN_OR_RETURN(const ScriptValue value, exprs_.BuildValue(e));
  if (const auto* made = std::get_if<std::shared_ptr<const ScriptLoops>>(&value)) loops = *made;
  return loops;
}

Status FuncBuilder::BuildFor(const PyStmt& stmt, Suite& suite) {
  ASSIGN_OR_RETURN(const PyExpr* const loop, exprs_.ChosenOf(*stmt.value));
  if (exprs_.CalleeName(*loop) == "grid") {
    ASSIGN_OR_RETURN(const ScriptLoops loops, BuildGrid(*loop));
    return BuildNest(stmt, loops, suite);
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const ScriptLoops> made, LoopsOfProgram(*loop));
  if (made != nullptr) return BuildNest(stmt, *made, suite);
  ASSIGN_OR_RETURN(LoopHeader header, BuildLoopHeader(*loop));
  const size_t names = names_.Open();
  ASSIGN_OR_RETURN(const Var var, LoopVar(*stmt.target, header.type, header.range));
  if (header.step) names_.Redefine(stmt.target->text, header.step->start + Expr(var) * header.step->step);
  ASSIGN_OR_RETURN(Stmt body, BuildLines(stmt.body));
  names_.Close(names);
  suite.stmts.push_back(For{var, header.range.min, header.range.extent, header.kind, std::move(header.thread),
                            std::move(header.annotations), std::move(body)});
  return OkStatus();
}

// The variables of a grid: a name for each loop, one name for all of them, or *name for several.
StatusOr<std::vector<Var>> FuncBuilder::LoopVars(const PyExpr& target, const std::vector<Range>& ranges) {
  ASSIGN_OR_RETURN(const std::vector<TargetPart> parts, PartsOf(target, ranges.size()));
  std::vector<Var> vars;
  for (const TargetPart& part : parts) {
    RETURN_IF_ERROR(Enter(part.at->offset));
    const Range& range = ranges[vars.size()];
    if (part.list == nullptr) {
      ASSIGN_OR_RETURN(Var var, LoopVar(*part.at, range.extent.dtype(), range));
      vars.push_back(std::move(var));
      continue;
    }
    vars.emplace_back(fmt::format("{}_{}", part.at->text, part.index), range.extent.dtype());
    loop_ranges_.emplace(vars.back().get(), range);
  }
  RETURN_IF_ERROR(DefineLists(parts, {vars.begin(), vars.end()}));
  return vars;
}

StatusOr<ScriptLoops> FuncBuilder::BuildGrid(const PyExpr& call) {
  if (!call.keywords.empty())
    return Error(call, fmt::format("expected no keyword for T.grid, got \"{}\"", call.keywords[0]));
  ScriptLoops loops;
  for (size_t i = 1; i < call.items.size(); ++i) {
    if (call.items[i]->kind == PyExprKind::kStar) {  // T.grid(*extents)
      ASSIGN_OR_RETURN(const std::vector<Expr> extents, exprs_.BuildList(*call.items[i]));
      for (const Expr& extent : extents) {
        RETURN_IF_ERROR(exprs_.CheckIndex(*call.items[i], extent, false));
        loops.ranges.push_back({IntConst(extent.dtype(), 0), extent});
      }
      continue;
    }
    ASSIGN_OR_RETURN(Range range, exprs_.BuildRange(*call.items[i]));
    loops.ranges.push_back(std::move(range));
  }
  return loops;
}

Status FuncBuilder::BuildNest(const PyStmt& stmt, const ScriptLoops& loops, Suite& suite) {
  const std::vector<Range>& ranges = loops.ranges;
  const size_t names = names_.Open();
  const int nesting = nesting_;
  ASSIGN_OR_RETURN(const std::vector<Var> vars, LoopVars(*stmt.target, ranges));
  ASSIGN_OR_RETURN(Stmt body, BuildLines(stmt.body));
  for (size_t i = vars.size(); i-- > 0;)
    body = For{vars[i], ranges[i].min, ranges[i].extent, loops.kind, loops.thread, loops.annotations, std::move(body)};
  nesting_ = nesting;
  names_.Close(names);
  suite.stmts.push_back(std::move(body));
  return OkStatus();
}

// A condition that is known while reading takes one of the two.
Status FuncBuilder::BuildIf(const PyStmt& stmt, Suite& suite) {
  ASSIGN_OR_RETURN(const std::optional<bool> known, exprs_.BuildStaticBool(*stmt.value));
  if (known) {
    const size_t names = names_.Open();
    for (const PyStmt* line : *known ? stmt.body : stmt.orelse) RETURN_IF_ERROR(BuildStmt(*line, suite));
    names_.Close(names);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Expr condition, BuildTest(*stmt.value, /*may_be_vector=*/true));
  ASSIGN_OR_RETURN(Stmt then_case, BuildSuite(stmt.body));
  std::optional<Stmt> else_case;
  if (!stmt.orelse.empty()) {
    ASSIGN_OR_RETURN(else_case, BuildSuite(stmt.orelse));
  }
  suite.stmts.push_back(IfThenElse{condition, std::move(then_case), std::move(else_case)});
  return OkStatus();
}

Status FuncBuilder::BuildWhile(const PyExpr& condition, const PyStmt& stmt, Suite& suite) {
  ASSIGN_OR_RETURN(const Expr test, BuildTest(condition));
  ASSIGN_OR_RETURN(Stmt body, BuildSuite(stmt.body));
  suite.stmts.push_back(While{test, std::move(body)});
  return OkStatus();
}

Status FuncBuilder::BuildIfScope(const PyStmt& stmt, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(*stmt.value, {"condition"}, 1));
  ASSIGN_OR_RETURN(const Expr condition, BuildCondition(*args[0]));
  std::optional<Stmt> cases[2];
  for (const PyStmt* line : stmt.body) {
    const std::string name = line->kind == PyStmtKind::kWith ? exprs_.CalleeName(*line->value) : "";
    if (name != "Then" && name != "Else")
      return ErrorAt(exprs_.source(), line->offset, "expected T.Then or T.Else inside of T.If");
    std::optional<Stmt>& branch = cases[name == "Then" ? 0 : 1];
    if (branch) return Error(*line->value, fmt::format("expected one T.{}, got a second", name));
    ASSIGN_OR_RETURN(branch, BuildSuite(line->body));
  }
  if (!cases[0]) return Error(*stmt.value, "expected T.Then inside of T.If");
  suite.stmts.push_back(IfThenElse{condition, *std::move(cases[0]), std::move(cases[1])});
  return OkStatus();
}

// ---- with ----------------------------------------------------------------------------------------------------------

Status FuncBuilder::BuildWith(const PyStmt& stmt, Suite& suite) {
  const std::string name = exprs_.CalleeName(*stmt.value);
  if (name == "block" || name == "sblock") return BuildBlock(stmt, suite);
  if (name == "init") return BuildInit(stmt);
  if (name == "If") return BuildIfScope(stmt, suite);
  if (name == "While") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(*stmt.value, {"condition"}, 1));
    return BuildWhile(*args[0], stmt, suite);
  }
  for (const std::string_view opener : {"launch_thread", "LetStmt", "let", "Let", "decl_buffer", "alloc_buffer",
                                        "allocate", "allocate_const", "attr", "realize", "Assert"}) {
    if (name == opener) return BuildScope(stmt, suite);
  }
  return Error(
      *stmt.value,
      "expected T.block, T.init, T.LetStmt, T.decl_buffer, T.allocate, T.launch_thread, T.attr or T.Assert after "
      "\"with\"");
}

Status FuncBuilder::BuildBlock(const PyStmt& stmt, Suite& suite) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(*stmt.value, {"name", "no_realize"}, 0));
  BlockFrame frame{.node = BlockNode{.body = Evaluate{0}}};
  if (args[0] != nullptr) {
    ASSIGN_OR_RETURN(frame.node.name, exprs_.BuildString(*args[0]));
  }
  frame.suite_depth = suite_depth_ + 1;
  blocks_.push_back(&frame);
  exprs_.EnterBlock();
  StatusOr<Stmt> body = BuildSuite(stmt.body);
  exprs_.LeaveBlock();
  blocks_.pop_back();
  if (!body.ok()) return body.status();
  frame.node.body = *std::move(body);
  const bool is_root = frame.node.name == kRootBlockName && frame.node.iter_vars.empty();
  last_has_reads_ = frame.has_reads;
  last_has_writes_ = frame.has_writes;
  if (!is_root && (!frame.has_reads || !frame.has_writes)) {
    AccessRegions regions = DetectAccessRegions(frame.node, owners_);
    if (!frame.has_reads) frame.node.reads = std::move(regions.reads);
    if (!frame.has_writes) frame.node.writes = std::move(regions.writes);
  }
  suite.stmts.push_back(
      BlockRealize{std::move(frame.iter_values), std::move(frame.predicate), Block(std::move(frame.node))});
  return OkStatus();
}

Status FuncBuilder::BuildInit(const PyStmt& stmt) {
  ASSIGN_OR_RETURN(BlockFrame* const block, DirectBlock(*stmt.value, "T.init"));
  if (block->node.init) return Error(*stmt.value, "expected one T.init in a block, got a second");
  ASSIGN_OR_RETURN(block->node.init, BuildSuite(stmt.body));
  return OkStatus();
}

namespace {

bool IsPlainName(const PyExpr* e) { return e != nullptr && e->kind == PyExprKind::kName; }

}  // namespace

// What stands after "with", into `inner.opened`.
Status FuncBuilder::OpenScope(const PyStmt& stmt, Suite& inner) {
  const PyExpr& call = *stmt.value;
  const std::string name = exprs_.CalleeName(call);
  if (name == "let") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, {"var", "value"}, 2));
    return BuildLetOf(*args[0], *args[1], inner);
  }
  if (name == "attr") return BuildAttrStmt(call, inner);
  if (name == "Assert") {
    ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, {"condition", "message"}, 1));
    return BuildAssert(call, *args[0], args[1], inner);
  }
  if (name == "realize") return BuildRealize(call, inner);
  if (name == "launch_thread") return BuildLaunch(stmt.target, call, inner);
  if (name == "LetStmt") return OpenLetStmt(stmt.target, call, inner);
  if (!IsPlainName(stmt.target)) return Error(call, "expected \"as\" and a name");
  return BuildAssignTo(*stmt.target, nullptr, call, inner);
}

// with T.LetStmt(value) as x, with T.LetStmt(value, var=x)
Status FuncBuilder::OpenLetStmt(const PyExpr* target, const PyExpr& call, Suite& inner) {
  ASSIGN_OR_RETURN(const BoundArgs args, exprs_.Bind(call, {"value", "type_annotation", "var"}, 1));
  if (args[2] == nullptr && !IsPlainName(target)) return Error(call, "expected \"as\" and a name");
  if (args[2] == nullptr) return BuildLet(*target, nullptr, *args[0], inner);
  RETURN_IF_ERROR(BuildLetOf(*args[2], *args[0], inner));
  return target == nullptr ? OkStatus() : Define(*target, Expr(std::get<Suite::OpenLet>(inner.opened.back().what).var));
}

// Of a variable that was declared before: x = T.int32(). Where the program need not be well formed, one may be bound
// again.
Status FuncBuilder::BuildLetOf(const PyExpr& declared, const PyExpr& value, Suite& inner) {
  ASSIGN_OR_RETURN(const Expr var, exprs_.Build(declared));
  ASSIGN_OR_RETURN(const Expr built, exprs_.Build(value));
  const bool is_unbound = unbound_.erase(var.get()) != 0;
  if (!IsVar(var) || !(is_unbound || exprs_.context().may_be_undefined))
    return Error(declared, "expected a variable declared by T.int32() and not yet bound");
  ASSIGN_OR_RETURN(const Expr converted, exprs_.Convert(value, var.dtype(), built));
  inner.opened.push_back({Suite::OpenLet{Var(var), converted}, 0});
  return OkStatus();
}

Status FuncBuilder::BuildScope(const PyStmt& stmt, Suite& suite) {
  const size_t names = names_.Open();
  const int nesting = nesting_;
  Suite inner;  // Only its opened part is used: the body is a suite of its own.
  RETURN_IF_ERROR(OpenScope(stmt, inner));
  if (inner.opened.empty()) return Error(*stmt.value, "expected what opens a scope");
  ASSIGN_OR_RETURN(Stmt body, BuildSuite(stmt.body));
  for (auto opened = inner.opened.rbegin(); opened != inner.opened.rend(); ++opened)
    body = Suite::Wrap(opened->what, std::move(body));
  suite.stmts.push_back(std::move(body));
  nesting_ = nesting;
  names_.Close(names);
  return OkStatus();
}

}  // namespace lathe
