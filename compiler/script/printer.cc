#include "compiler/script/printer.h"

#include <fmt/ranges.h>

#include "compiler/ir/declare_buffers.h"
#include "compiler/ir/memory.h"
#include "compiler/ir/structural.h"
#include "compiler/ir/visitor.h"
#include "compiler/script/dialect.h"
#include "compiler/script/expr_printer.h"
#include "compiler/script/respell.h"

namespace lathe {
namespace {

std::string Imports(const PrintOptions& options) {
  const std::string_view comment = options.as_tvm ? "# " : "", end = options.as_tvm ? "" : "\n";
  return fmt::format("{0}from tvm.script import ir as I\n{0}from tvm.script import {1} as T\n\n{2}", comment,
                     DialectOf(options), end);
}

// Keeps the texts that one kind of node needs out of the frames of the others: deep trees must fit the stack.
#define LATHE_OWN_FRAME [[gnu::noinline]]

bool IsTrue(const Expr& e) { return e.dtype() == DataType::Bool() && IsConstInt(e, 1); }
bool IsZeroOf(const Expr& e, DataType type) { return e.dtype() == type && IsConstInt(e, 0); }
bool IsDefaultOffset(const Expr& e) { return IsZeroOf(e, kIndexType); }

constexpr const char* kGlobalSymbol = "global_symbol";

class Printer {
 public:
  Printer(int indent, const PrintOptions& options) : options_(options), indent_(indent) {}
  std::string Finish() { return std::move(out_); }

  void PrintFunc(const PrimFunc& func) {
    const size_t names = names_.Open();
    const std::string header = Params(func);
    const bool is_lone = indent_ == 0;  // Then it is called by its symbol, else by the name in its module.
    const auto other = func.attrs.find(kGlobalSymbol);
    const bool has_other = is_lone && other != func.attrs.end();
    const std::string called = has_other ? std::get<std::string>(other->second) : func.name;
    const std::string symbol = called.empty() ? "main" : called;
    const std::string name = !options_.name.empty() ? options_.name : IsIdentifier(symbol) ? symbol : "func";
    Line(Decorator(func));
    const std::string returns = func.ret_type ? fmt::format(" -> T.{}", func.ret_type->ToString()) : "";
    Line(fmt::format("def {}({}){}:", name, header, returns));
    ++indent_;
    AttrMap attrs = func.attrs;
    if (is_lone) attrs.erase(kGlobalSymbol);
    if (name != symbol) attrs[kGlobalSymbol] = called;
    if (!attrs.empty()) Line(fmt::format("T.func_attr({})", exprs_.PrintAttrs(attrs)));
    MatchParams();
    const size_t body = out_.size();
    const Stmt declared = AllDeclared(func);
    PrintFuncBody(declared);
    DeclareUnnamed(body);
    Dedent();
    names_.Close(names);
  }

  // Of PrintOptions: only with verbose_expr comes what is declared before the text.
  void PrintAlone(std::string_view text) {
    if (!options_.verbose_expr) return RawLine(text);
    Line(text);
    DeclareUnnamed(0);
  }
  ExprPrinter& exprs() { return exprs_; }
  void PrintMatch(const MatchBufferRegion& match) {
    named_ahead_ = match.buffer.get();
    DefineBuffer(match.buffer);
    Match(match);
    DeclareUnnamed(0);
  }

  void PrintStmt(const Stmt& whole) {
    const Stmt stmt = AllDeclared({.body = whole});
    if (options_.as_tvm && stmt.As<Seq>() == nullptr)
      PrintInner(stmt);  // What begins a scope is a "with" where nothing is around it.
    else
      PrintTail(stmt);
    DeclareUnnamed(0);
  }
  void PrintBlock(const BlockNode& block) {
    Line(fmt::format("with T.{}({}, no_realize=True):", BlockWord(), QuotedString(block.name)));
    ++indent_;
    for (const IterVar& iter : block.iter_vars) PrintAxis(iter, std::nullopt);
    PrintBlockBody(block);
    Dedent();
    DeclareUnnamed(0);
  }

 private:
  // The body: as TVM, memory and a buffer over it are one line, and buffers without a declaration have one.
  Stmt AllDeclared(PrimFunc func) {
    if (!options_.as_tvm) return func.body;
    func.body = JoinAllocations(func.body, /*for_text=*/true);
    DeclaredBuffers declared = FindDeclarations(func);
    added_ = std::move(declared.added);
    return declared.body;
  }
  bool IsToday() const { return options_.spelling == Spelling::kToday; }
  std::string Decorator(const PrimFunc& func) const {
    const bool is_private = func.is_private || func.name.empty();
    const std::string_view options = !IsToday()   ? (is_private ? "(private=True)" : "")
                                     : is_private ? "(private=True, s_tir=True)"
                                                  : "(s_tir=True)";
    return fmt::format("@T.prim_func{}", options);
  }
  std::string_view AllocWord() const { return IsToday() ? "alloc_buffer" : "decl_buffer"; }
  std::string_view BlockWord() const { return IsToday() ? "sblock" : "block"; }
  // Declarations that `text` needs come first.
  LATHE_OWN_FRAME void Line(std::string_view text) {
    const std::vector<std::string> declarations = exprs_.TakeDeclarations();
    for (const std::string& declaration : declarations) RawLine(declaration);
    if (!declarations.empty()) names_.KeepAt(indent_);
    RawLine(text);
  }
  void Dedent() { names_.ForgetFrom(indent_--); }
  void RawLine(std::string_view text) {
    out_.append(size_t(indent_) * 4, ' ');
    out_ += text;
    out_ += '\n';
  }

  // Declares, at `begin` of what is printed, what was used there and is no parameter. As TVM.
  void DeclareUnnamed(size_t begin) {
    if (!options_.as_tvm) return;
    std::vector<ExprPrinter::Unnamed> all;
    std::unordered_map<const void*, std::string> lines;
    for (bool is_more = true; is_more;) {  // A buffer's line may use new ones.
      const std::vector<ExprPrinter::Unnamed> unnamed = exprs_.TakeUnnamed();
      for (const ExprPrinter::Unnamed& one : unnamed) lines.emplace(NodeOf(one), Declaration(one));
      all.insert(all.end(), unnamed.begin(), unnamed.end());
      is_more = !unnamed.empty();
    }
    std::string declared;
    for (const ExprPrinter::Unnamed& one : all) TakeLine(one, lines, declared);
    out_.insert(begin, declared);
  }
  static const void* NodeOf(const ExprPrinter::Unnamed& one) {
    return std::visit([](const auto& node) -> const void* { return node.get(); }, one);
  }
  // Moves the line of `one` to the end of `declared`, those of what it uses before.
  static void TakeLine(const ExprPrinter::Unnamed& one, std::unordered_map<const void*, std::string>& lines,
                       std::string& declared) {
    const auto line = lines.extract(NodeOf(one));
    if (line.empty()) return;
    if (const Buffer* buffer = std::get_if<Buffer>(&one)) {
      const auto before = [&](const Expr& e) {
        if (IsVar(e)) TakeLine(Var(e), lines, declared);
      };
      for (const Expr& extent : (*buffer)->shape) PostOrderVisit(extent, before);
      for (const Expr& stride : (*buffer)->strides) PostOrderVisit(stride, before);
      PostOrderVisit((*buffer)->elem_offset, before);
      before((*buffer)->data);
    }
    declared += line.mapped();
  }
  std::string Declaration(const ExprPrinter::Unnamed& one) {
    const std::string indent(size_t(indent_) * 4, ' ');
    if (const Var* var = std::get_if<Var>(&one))
      return fmt::format("{}{} = {}\n", indent, exprs_.NameOf(*var), exprs_.DeclarationOf(*var));
    const Buffer& buffer = std::get<Buffer>(one);
    const std::string name = exprs_.NameOf(buffer);
    const bool is_own = exprs_.NameOf(buffer->data) == name + ".data";
    const std::string args = is_own ? BufferArgs(buffer) : DeclarationArgs(buffer);
    return fmt::format("{}{} = T.Buffer({})\n", indent, name, args);
  }

  LATHE_OWN_FRAME void ConditionLine(std::string_view word, const Expr& condition) {
    Line(fmt::format("{} {}:", word, exprs_.Print(condition)));
  }

  // ---- Functions
  // A shape that a signature can hold, all constants.
  static bool IsConstantBuffer(const Buffer& buffer) {
    const auto constant = [](const std::vector<Expr>& list) {
      for (const Expr& e : list) {
        if (AsIntConst(e) == nullptr) return false;
      }
      return true;
    };
    return constant(buffer->shape) && constant(buffer->strides) && AsIntConst(buffer->elem_offset) != nullptr;
  }
  // A buffer that TVM's signatures hold: with nothing to say of it but its shape and type.
  bool IsSimple(const BufferNode& buffer) const {
    return options_.syntax_sugar && buffer.strides.empty() && IsConstInt(buffer.elem_offset, 0) &&
           buffer.scope == "global" && buffer.data_alignment == kDefaultDataAlignment && buffer.offset_factor == 1 &&
           buffer.buffer_type == BufferType::kDefault && buffer.axis_separators.empty();
  }
  bool StandsInSignature(const Var& param, const Buffer& buffer, const std::unordered_set<const ExprNode*>& used) {
    return IsConstantBuffer(buffer) && (!options_.as_tvm || IsSimple(*buffer)) && !used.contains(param.get()) &&
           param.pointer() == nullptr && names_.Find(buffer->data.get()) == nullptr;
  }
  // Handles that something besides buffer_map names: these must stand in the signature.
  static std::unordered_set<const ExprNode*> UsedHandles(const PrimFunc& func) {
    std::unordered_set<const ExprNode*> used;
    const std::function<void(const Expr&)> note = [&](const Expr& e) {
      if (IsVar(e) && e.dtype() == DataType::Handle()) used.insert(e.get());
    };
    PostOrderVisit(func.body, note);
    return used;
  }
  std::string Params(const PrimFunc& func) {
    const std::unordered_set<const ExprNode*> used = UsedHandles(func);
    std::string text;
    for (const Var& param : func.params) {
      if (!text.empty()) text += ", ";
      const Buffer* buffer = FindBuffer(func, param);
      if (buffer == nullptr) {
        text += fmt::format("{}: {}", names_.Define(param.get(), param.name()), exprs_.PrintVarType(param));
        continue;
      }
      if (StandsInSignature(param, *buffer, used)) {
        const std::string name = DefineBuffer(*buffer);
        text += fmt::format("{}: T.Buffer({})", name, BufferArgs(*buffer, "global", /*with_type=*/true));
        continue;
      }
      if (!options_.as_tvm) DefineBuffer(*buffer);  // TVM calls the handle first.
      const std::string handle = names_.Define(param.get(), param.name());
      matched_.emplace_back(handle, *buffer);
      text += fmt::format("{}: {}", handle, exprs_.PrintVarType(param));
    }
    return text;
  }
  // The buffer's name; its data is "name.data" unless it is named already.
  std::string DefineBuffer(const Buffer& buffer) {
    if (named_ahead_ == buffer.get() && names_.Find(buffer.get()) != nullptr) {
      named_ahead_ = nullptr;
      return *names_.Find(buffer.get());
    }
    std::string name = names_.Define(buffer.get(), buffer->name);
    if (names_.Find(buffer->data.get()) == nullptr) names_.DefineAs(buffer->data.get(), name + ".data");
    return name;
  }
  void DeclareSymbols(const Expr& e) {
    PostOrderVisit(e, [&](const Expr& part) {
      if (!IsVar(part) || names_.Find(part.get()) != nullptr) return;
      const std::string name = names_.Define(part.get(), part.As<VarName>()->name);
      Line(fmt::format("{} = {}", name, exprs_.DeclarationOf(Var(part))));
    });
  }
  void MatchParams() {
    for (const auto& [handle, buffer] : matched_) {
      DeclareBufferSymbols(buffer);
      const std::string name = options_.as_tvm ? DefineBuffer(buffer) : exprs_.NameOf(buffer);
      Line(fmt::format("{} = T.match_buffer({}, {})", name, handle, BufferArgs(buffer)));
    }
    matched_.clear();
  }
  void DeclareBufferSymbols(const Buffer& buffer) {
    for (const Expr& extent : buffer->shape) DeclareSymbols(extent);
    if (options_.as_tvm) return;  // These are named where the buffer is.
    for (const Expr& stride : buffer->strides) DeclareSymbols(stride);
    DeclareSymbols(buffer->elem_offset);
  }
  bool IsNewVar(const Expr& e) const { return IsVar(e) && names_.Find(e.get()) == nullptr; }
  // Of a buffer whose variables are called by its name, where its line is still to be written.
  std::string NameAhead(const Buffer& buffer) {
    if (const std::string* known = names_.Find(buffer.get())) return *known;
    std::string name = DefineBuffer(buffer);
    named_ahead_ = buffer.get();
    return name;
  }
  // ("s0", "s1"): a text is a variable that begins here; the body calls it A.strides[0].
  std::string Strides(const Buffer& buffer) {
    std::string text;
    for (size_t i = 0; i < buffer->strides.size(); ++i) {
      const Expr& stride = buffer->strides[i];
      const bool is_new = options_.as_tvm && IsNewVar(stride);
      if (is_new) names_.DefineAs(stride.get(), fmt::format("{}.strides[{}]", NameAhead(buffer), i));
      const std::string one = is_new ? QuotedString(stride.As<VarName>()->name) : exprs_.Print(stride);
      text += (text.empty() ? "" : ", ") + one;
    }
    return fmt::format("({}{})", text, buffer->strides.size() == 1 ? "," : "");
  }
  std::string BufferArgs(const Buffer& buffer, std::string_view usual_scope = "global", bool with_type = false) {
    std::string text = exprs_.PrintTuple(buffer->shape);
    if (with_type || !options_.as_tvm || buffer->dtype != options_.buffer_dtype)
      text += fmt::format(", \"{}\"", buffer->dtype.ToString());
    if (!buffer->strides.empty()) text += fmt::format(", strides={}", Strides(buffer));
    // A factor without an offset asks for a new variable.
    const bool new_offset = options_.as_tvm && IsNewVar(buffer->elem_offset);
    if (new_offset) {
      names_.DefineAs(buffer->elem_offset.get(), NameAhead(buffer) + ".elem_offset");
    } else if (!IsDefaultOffset(buffer->elem_offset) || buffer->offset_factor != 1) {
      text += fmt::format(", elem_offset={}", exprs_.Print(buffer->elem_offset));
    }
    if (buffer->scope != usual_scope) text += fmt::format(", scope={}", QuotedString(buffer->scope));
    if (buffer->data_alignment != kDefaultDataAlignment) text += fmt::format(", align={}", buffer->data_alignment);
    if (buffer->offset_factor != 1 || new_offset) text += fmt::format(", offset_factor={}", buffer->offset_factor);
    if (buffer->buffer_type == BufferType::kAutoBroadcast) text += ", buffer_type=\"auto\"";
    if (!buffer->axis_separators.empty())
      text += fmt::format(", axis_separators=[{}]", fmt::join(buffer->axis_separators, ", "));
    return text;
  }

  // The root block is left out where the parser puts it back.
  void PrintFuncBody(const Stmt& body) {
    const BlockRealize* realize = body.As<BlockRealize>();
    if (realize == nullptr || !options_.syntax_sugar || !IsImplicitRoot(*realize)) return PrintTail(body);
    if (options_.as_tvm) Line(fmt::format("# with T.{}(\"root\"):", BlockWord()));
    for (const Buffer& buffer : realize->block->alloc_buffers) Alloc(buffer);
    PrintTail(realize->block->body);
  }
  static bool IsImplicitRoot(const BlockRealize& realize) {
    const BlockNode& block = *realize.block;
    return block.name == kRootBlockName && block.iter_vars.empty() && realize.iter_values.empty() &&
           IsTrue(realize.predicate) && block.reads.empty() && block.writes.empty() && block.match_buffers.empty() &&
           block.annotations.empty() && !block.init && (!block.alloc_buffers.empty() || NeedsRootBlock(block.body));
  }

  // ---- Statements
  LATHE_OWN_FRAME void PrintTail(
      const Stmt& stmt) {  // `stmt` ends its suite, so that lets and allocations need no "with".
    if (const Seq* seq = stmt.As<Seq>()) {
      for (size_t i = 0; i + 1 < seq->stmts.size(); ++i) PrintInner(seq->stmts[i]);
      if (!seq->stmts.empty()) PrintTail(seq->stmts.back());
      return;
    }
    if (const LetStmt* let = stmt.As<LetStmt>()) {
      BeginLet(*let);
      return PrintTail(let->body);
    }
    if (const AllocBuffer* allocate = stmt.As<AllocBuffer>()) {
      BeginAllocate(*allocate);
      return PrintTail(allocate->body);
    }
    if (const Allocate* allocate = stmt.As<Allocate>()) {
      Line(AllocateLine(*allocate));
      return PrintTail(allocate->body);
    }
    if (const AllocateConst* allocate = stmt.As<AllocateConst>()) {
      Line(ConstLine(*allocate));
      return PrintTail(allocate->body);
    }
    if (const AttrStmt* attr = stmt.As<AttrStmt>()) {
      Line(AttrLine(*attr));
      return PrintTail(attr->body);
    }
    if (const DeclBuffer* declaration = stmt.As<DeclBuffer>()) {
      BeginDeclaration(*declaration);
      return PrintTail(declaration->body);
    }
    if (const AssertStmt* check = stmt.As<AssertStmt>()) {
      Line(fmt::format("assert {}", CheckArgs(*check)));
      return PrintTail(check->body);
    }
    PrintInner(stmt);
  }
  LATHE_OWN_FRAME void BeginLet(const LetStmt& let) {
    const std::string value = exprs_.Print(let.value);
    const std::string name = names_.Define(let.var.get(), let.var.name());
    Line(fmt::format("{}: {} = {}", name, exprs_.PrintVarType(let.var), value));
  }
  LATHE_OWN_FRAME void BeginAllocate(const AllocBuffer& allocate) {
    const std::string args = BufferArgs(allocate.buffer);
    Line(fmt::format("{} = T.{}({})", DefineBuffer(allocate.buffer), AllocWord(), args));
  }
  std::string DeclarationArgs(const Buffer& buffer) {
    const PointerType* pointer = buffer->data.pointer();
    const bool is_global = pointer == nullptr || (options_.as_tvm && pointer->scope.empty());
    const std::string args = BufferArgs(buffer, is_global ? "global" : pointer->scope);
    return fmt::format("{}, data={}", args, exprs_.NameOf(buffer->data));
  }
  LATHE_OWN_FRAME void BeginDeclaration(const DeclBuffer& declaration) {
    const std::string args = DeclarationArgs(declaration.buffer);
    const std::string_view word = added_.contains(declaration.buffer.get()) ? "Buffer" : "decl_buffer";
    Line(fmt::format("{} = T.{}({})", DefineBuffer(declaration.buffer), word, args));
  }
  // X = T.allocate([16], "float32", "global")
  std::string AllocateLine(const Allocate& allocate) {
    const auto [name, call] = AllocateCall(allocate);
    return fmt::format("{} = {}", name, call);
  }
  std::pair<std::string, std::string> AllocateCall(const Allocate& allocate) {
    const PointerType* pointer = allocate.buffer_var.pointer();
    std::string args = fmt::format("[{}], \"{}\", {}", exprs_.PrintList(allocate.extents), allocate.dtype.ToString(),
                                   QuotedString(pointer == nullptr ? "" : pointer->scope));
    if (!IsTrue(allocate.condition)) args += fmt::format(", condition={}", exprs_.Print(allocate.condition));
    if (!allocate.annotations.empty()) args += fmt::format(", annotations={}", exprs_.PrintAttrs(allocate.annotations));
    return {names_.Define(allocate.buffer_var.get(), allocate.buffer_var.name()), fmt::format("T.allocate({})", args)};
  }
  std::string ConstLine(const AllocateConst& allocate) {
    const auto [name, call] = ConstCall(allocate);
    return fmt::format("{} = {}", name, call);
  }
  std::pair<std::string, std::string> ConstCall(const AllocateConst& allocate) {
    std::string args = fmt::format("[{}], \"{}\", [{}]", PrintConstants(allocate.data), allocate.dtype.ToString(),
                                   exprs_.PrintList(allocate.extents));
    if (!allocate.annotations.empty()) args += fmt::format(", annotations={}", exprs_.PrintAttrs(allocate.annotations));
    return {names_.Define(allocate.buffer_var.get(), allocate.buffer_var.name()),
            fmt::format("T.allocate_const({})", args)};
  }
  static std::string PrintConstants(const std::vector<Expr>& data) {
    std::string text;
    for (const Expr& e : data) {
      const FloatImm* number = e.As<FloatImm>();
      text +=
          (text.empty() ? "" : ", ") + (number != nullptr ? PrintFloat(number->value) : std::to_string(*AsIntConst(e)));
    }
    return text;
  }
  // bx = T.launch_thread("blockIdx.x", 128) where that gives the axis back; an axis that is launched again is named.
  static bool IsLaunch(const AttrStmt& attr) {
    const IterVar* axis = std::get_if<IterVar>(&attr.node);
    return axis != nullptr && attr.attr_key == LaunchKey(axis->thread_tag) && axis->kind == IterKind::kThreadIndex &&
           !axis->thread_tag.empty() && axis->var.dtype() == attr.value.dtype() &&
           SameRange(axis->domain, {IntConst(attr.value.dtype(), 0), attr.value});
  }
  bool IsFirstLaunch(const AttrStmt& attr) {
    return IsLaunch(attr) && names_.Find(std::get<IterVar>(attr.node).var.get()) == nullptr;
  }
  std::string LaunchCall(const AttrStmt& attr) {
    return fmt::format("T.launch_thread({}, {})", QuotedString(std::get<IterVar>(attr.node).thread_tag),
                       exprs_.Print(attr.value));
  }
  std::string AttrLine(const AttrStmt& attr) {
    if (!IsFirstLaunch(attr)) return AttrCall(attr);
    const std::string call = LaunchCall(attr);
    const Var& var = std::get<IterVar>(attr.node).var;
    return fmt::format("{} = {}", names_.Define(var.get(), var.name()), call);
  }
  // A reducer alone is a reduction of nothing (T.attr(T.comm_reducer(...), "reduce_scope", ...)).
  static const Reduce* ReducerOf(const AttrStmt& attr) {
    const Attr* value = std::get_if<Attr>(&attr.node);
    const Expr* e = value == nullptr ? nullptr : std::get_if<Expr>(value);
    const Reduce* reduce = e == nullptr ? nullptr : e->As<Reduce>();
    return reduce != nullptr && reduce->source.empty() ? reduce : nullptr;
  }
  std::string AttrCall(const AttrStmt& attr) {
    std::string target;
    if (const Attr* value = std::get_if<Attr>(&attr.node)) target = exprs_.PrintAttr(*value);
    if (const Buffer* buffer = std::get_if<Buffer>(&attr.node)) target = exprs_.NameOf(*buffer);
    if (const IterVar* axis = std::get_if<IterVar>(&attr.node)) target = exprs_.PrintIterVar(*axis);
    if (const Reduce* reduce = ReducerOf(attr)) target = exprs_.PrintReducer(reduce->combiner);
    return fmt::format("T.attr({}, {}, {})", target, QuotedString(attr.attr_key), exprs_.Print(attr.value));
  }
  LATHE_OWN_FRAME void PrintSuite(const Stmt& stmt) {
    const size_t names = names_.Open();
    ++indent_;
    PrintTail(stmt);
    Dedent();
    names_.Close(names);
  }
  LATHE_OWN_FRAME void PrintInner(const Stmt& stmt) {
    const size_t names = names_.Open();
    std::visit([&](const auto& node) { PrintNode(node); }, stmt.node().value);
    names_.Close(names);
  }

  LATHE_OWN_FRAME void PrintNode(const Allocate& allocate) {
    const auto [name, call] = AllocateCall(allocate);
    Line(fmt::format("with {} as {}:", call, name));
    PrintSuite(allocate.body);
  }
  LATHE_OWN_FRAME void PrintNode(const AllocateConst& allocate) {
    const auto [name, call] = ConstCall(allocate);
    Line(fmt::format("with {} as {}:", call, name));
    PrintSuite(allocate.body);
  }
  LATHE_OWN_FRAME void PrintNode(const AttrStmt& attr) {
    if (IsFirstLaunch(attr)) {
      const std::string call = LaunchCall(attr);
      const Var& var = std::get<IterVar>(attr.node).var;
      Line(fmt::format("with {} as {}:", call, names_.Define(var.get(), var.name())));
    } else {
      Line(fmt::format("with {}:", AttrCall(attr)));
    }
    PrintSuite(attr.body);
  }
  LATHE_OWN_FRAME void PrintNode(const BufferRealize& realize) {
    const std::string args = BufferArgs(realize.buffer);
    Line(fmt::format("{} = T.Buffer({})", DefineBuffer(realize.buffer), args));
    std::string call = fmt::format("{}, {}", exprs_.PrintRegion({realize.buffer, realize.bounds}),
                                   QuotedString(realize.storage_scope));
    if (!IsTrue(realize.condition)) call += fmt::format(", {}", exprs_.Print(realize.condition));
    Line(fmt::format("with T.realize({}):", call));
    PrintSuite(realize.body);
  }
  LATHE_OWN_FRAME void PrintNode(const Prefetch& prefetch) {
    std::string ranges;
    for (const Range& range : prefetch.bounds) {
      const std::optional<Expr> end = EndOf(range);
      ranges += fmt::format("{}T.Range({}, {}{})", ranges.empty() ? "" : ", ", exprs_.Print(range.min),
                            end ? "" : "extent=", exprs_.Print(end.value_or(range.extent)));
    }
    Line(fmt::format("T.prefetch({}, [{}])", exprs_.NameOf(prefetch.buffer), ranges));
  }
  LATHE_OWN_FRAME void PrintNode(const BufferStore& store) {
    if (store.predicate) {
      return Line(fmt::format("{}.vstore([{}], {}, predicate={})", exprs_.NameOf(store.buffer),
                              exprs_.PrintList(store.indices), exprs_.Print(store.value),
                              exprs_.Print(*store.predicate)));
    }
    exprs_.NameOf(store.buffer);  // In this order names come up.
    const std::string value = exprs_.Print(store.value), element = exprs_.PrintAccess(store.buffer, store.indices);
    Line(fmt::format("{} = {}", element, value));
  }
  LATHE_OWN_FRAME void PrintNode(const Evaluate& evaluate) {
    const bool is_call = evaluate.value.As<Call>() != nullptr || evaluate.value.As<FuncCall>() != nullptr;
    if (options_.as_tvm && is_call) return Line(exprs_.Print(evaluate.value));
    Line(fmt::format("T.evaluate({})", exprs_.Print(evaluate.value)));
  }
  LATHE_OWN_FRAME void PrintNode(const AssertStmt& check) {
    if (IsToday()) {  // Has no body there.
      Line(fmt::format("assert {}", CheckArgs(check)));
      return PrintInner(check.body);
    }
    Line(fmt::format("with T.Assert({}):", CheckArgs(check)));
    PrintSuite(check.body);
  }
  std::string CheckArgs(const AssertStmt& check) {
    return fmt::format("{}, {}", exprs_.Print(check.condition), QuotedString(check.message));
  }
  LATHE_OWN_FRAME void PrintNode(const Seq& seq) {
    for (const Stmt& stmt : seq.stmts) PrintInner(stmt);
  }
  LATHE_OWN_FRAME void PrintNode(const While& loop) {
    ConditionLine("while", loop.condition);
    PrintSuite(loop.body);
  }
  // The conditions come first: what they declare stands before the whole chain.
  LATHE_OWN_FRAME std::vector<std::string> ConditionsFrom(const IfThenElse& branch) {
    std::vector<std::string> conditions;
    for (const IfThenElse* next = &branch; next != nullptr;
         next = next->else_case && !options_.as_tvm ? next->else_case->As<IfThenElse>() : nullptr)  // TVM: no elif.
      conditions.push_back(exprs_.Print(next->condition));
    return conditions;
  }
  LATHE_OWN_FRAME void BranchLine(std::string_view word, std::string_view condition) {
    Line(fmt::format("{} {}:", word, condition));
  }
  LATHE_OWN_FRAME void PrintNode(const IfThenElse& branch) {
    const std::vector<std::string> conditions = ConditionsFrom(branch);
    const IfThenElse* last = &branch;
    for (size_t i = 0; i < conditions.size(); ++i) {
      if (i > 0) last = last->else_case->As<IfThenElse>();
      BranchLine(i == 0 ? "if" : "elif", conditions[i]);
      PrintSuite(last->then_case);
    }
    if (!last->else_case) return;
    Line("else:");
    PrintSuite(*last->else_case);
  }
  LATHE_OWN_FRAME void PrintNode(const LetStmt& let) {
    const std::string value = exprs_.Print(let.value);
    Line(fmt::format("with T.LetStmt({}) as {}:", value, names_.Define(let.var.get(), let.var.name())));
    PrintSuite(let.body);
  }
  LATHE_OWN_FRAME void PrintNode(const AllocBuffer& allocate) {
    const std::string args = BufferArgs(allocate.buffer);
    Line(fmt::format("with T.{}({}) as {}:", AllocWord(), args, DefineBuffer(allocate.buffer)));
    PrintSuite(allocate.body);
  }
  LATHE_OWN_FRAME void PrintNode(const DeclBuffer& declaration) {
    const std::string args = DeclarationArgs(declaration.buffer);
    Line(fmt::format("with T.decl_buffer({}) as {}:", args, DefineBuffer(declaration.buffer)));
    PrintSuite(declaration.body);
  }

  // ---- Loops
  bool IsGridLoop(const For& loop) const {
    return options_.syntax_sugar && loop.kind == ForKind::kSerial && loop.thread.empty() && loop.annotations.empty() &&
           loop.loop_var.dtype() == loop.extent.dtype() && IsZeroOf(loop.min, loop.extent.dtype());
  }
  LATHE_OWN_FRAME void PrintNode(const For& loop) {
    std::vector<const For*> nest = GridFrom(loop);
    if (nest.size() < 2) return PrintLoop(loop);
    PrintGridHeader(nest);
    PrintSuite(nest.back()->body);
  }
  LATHE_OWN_FRAME void PrintGridHeader(const std::vector<const For*>& nest) {
    std::string extents, vars;
    for (const For* one : nest) extents += (extents.empty() ? "" : ", ") + exprs_.Print(one->extent);
    for (const For* one : nest) vars += (vars.empty() ? "" : ", ") + DefineLoop(*one);
    Line(fmt::format("for {} in T.grid({}):", vars, extents));
  }
  // Loops directly inside each other whose extents do not depend on one another.
  std::vector<const For*> GridFrom(const For& loop) const {
    std::vector<const For*> nest;
    for (const For* next = &loop; next != nullptr && IsGridLoop(*next); next = next->body.As<For>()) {
      const bool depends = AsIntConst(next->extent) == nullptr && UsesVar(next->extent, [&](const ExprNode* var) {
                             for (const For* outer : nest) {
                               if (outer->loop_var.get() == var) return true;
                             }
                             return false;
                           });
      if (depends) break;
      nest.push_back(next);
    }
    return nest;
  }
  std::string DefineLoop(const For& loop) {
    loops_.insert_or_assign(loop.loop_var.get(), &loop);
    if (const std::string* known = names_.Find(loop.loop_var.get())) return *known;  // Declared for a T.attr before.
    return names_.Define(loop.loop_var.get(), loop.loop_var.name());
  }
  LATHE_OWN_FRAME void PrintLoop(const For& loop) {
    PrintLoopHeader(loop);
    PrintSuite(loop.body);
  }
  LATHE_OWN_FRAME void PrintLoopHeader(const For& loop) {
    std::string args;
    const Range range{loop.min, loop.extent};
    if (IsZeroOf(loop.min, loop.extent.dtype())) {
      args = exprs_.Print(loop.extent);
    } else if (const std::optional<Expr> end = EndOf(range)) {
      args = fmt::format("{}, {}", exprs_.Print(loop.min), exprs_.Print(*end));
    } else {
      args = exprs_.PrintDomain(range);
    }
    const bool is_plain = loop.kind == ForKind::kSerial && loop.thread.empty() && loop.annotations.empty() &&
                          loop.loop_var.dtype() == loop.extent.dtype();
    if (loop.kind == ForKind::kThreadBinding || !loop.thread.empty())
      args += fmt::format(", thread={}", QuotedString(loop.thread));
    if (!loop.annotations.empty()) args += fmt::format(", annotations={}", exprs_.PrintAttrs(loop.annotations));
    if (loop.loop_var.dtype() != loop.extent.dtype())
      args += fmt::format(", dtype=\"{}\"", loop.loop_var.dtype().ToString());
    const std::string callee = is_plain ? "range" : fmt::format("T.{}", SpellingOf(loop.kind));
    Line(fmt::format("for {} in {}({}):", DefineLoop(loop), callee, args));
  }

  // ---- Blocks
  LATHE_OWN_FRAME void PrintNode(const BlockRealize& realize) {
    const BlockNode& block = *realize.block;
    Line(fmt::format("with T.{}({}):", BlockWord(), QuotedString(block.name)));
    ++indent_;
    PrintAxes(realize);
    if (!IsTrue(realize.predicate)) Line(fmt::format("T.where({})", exprs_.Print(realize.predicate)));
    PrintBlockBody(block);
    Dedent();
  }
  LATHE_OWN_FRAME void PrintBlockBody(const BlockNode& block) {
    PrintBlockHeader(block);
    if (block.init) {
      Line("with T.init():");
      PrintSuite(*block.init);
    }
    PrintTail(block.body);
  }
  LATHE_OWN_FRAME void PrintBlockHeader(const BlockNode& block) {
    const bool allocates_first = !options_.as_tvm || NamesItsOwn(block);
    for (const Buffer& buffer : block.alloc_buffers) {
      if (allocates_first) Alloc(buffer);
    }
    const bool is_root = block.name == kRootBlockName && block.iter_vars.empty();
    if (!is_root || options_.as_tvm || !block.reads.empty() || !block.writes.empty()) {
      Line(fmt::format("T.reads({})", Regions(block.reads)));
      Line(fmt::format("T.writes({})", Regions(block.writes)));
    }
    if (!block.annotations.empty())
      Line(fmt::format("T.{}_attr({})", BlockWord(), exprs_.PrintAttrs(block.annotations)));
    for (const Buffer& buffer : block.alloc_buffers) {
      if (!allocates_first) Alloc(buffer);
    }
    for (const MatchBufferRegion& match : block.match_buffers) Match(match);
  }
  // Regions may name what the block allocates: then that comes first.
  static bool NamesItsOwn(const BlockNode& block) {
    for (const std::vector<BufferRegion>* regions : {&block.reads, &block.writes}) {
      for (const BufferRegion& region : *regions) {
        for (const Buffer& buffer : block.alloc_buffers) {
          if (region.buffer.same_as(buffer)) return true;
        }
      }
    }
    return false;
  }
  void Alloc(const Buffer& buffer) {
    const std::string args = BufferArgs(buffer);
    Line(fmt::format("{} = T.{}({})", DefineBuffer(buffer), IsToday() ? "sblock_alloc_buffer" : "alloc_buffer", args));
  }
  void Match(const MatchBufferRegion& match) {
    const std::string source = exprs_.PrintRegion(match.source);
    DeclareBufferSymbols(match.buffer);
    const std::string args = BufferArgs(match.buffer);
    Line(fmt::format("{} = T.match_buffer({}, {})", DefineBuffer(match.buffer), source, args));
  }
  std::string Regions(const std::vector<BufferRegion>& regions) {
    std::string text;
    for (const BufferRegion& region : regions) text += (text.empty() ? "" : ", ") + exprs_.PrintRegion(region);
    return text;
  }

  // Whether T.axis.remap gives the iter var back: S or R, bound to a loop around, over the same range.
  bool IsRemap(const IterVar& iter, const Expr& value) const {
    const auto loop = loops_.find(value.get());
    const bool has_letter = iter.kind == IterKind::kSpatial || iter.kind == IterKind::kReduce;
    return options_.syntax_sugar && has_letter && loop != loops_.end() && names_.Find(value.get()) != nullptr &&
           iter.var.dtype() == value.dtype() && SameRange(iter.domain, {loop->second->min, loop->second->extent});
  }
  void PrintAxes(const BlockRealize& realize) {
    const std::vector<IterVar>& iters = realize.block->iter_vars;
    for (size_t begin = 0, end = 0; begin < iters.size(); begin = end) {
      while (end < iters.size() && IsRemap(iters[end], realize.iter_values[end])) ++end;
      if (end - begin >= 2) {
        PrintRemap(realize, begin, end);
        continue;
      }
      end = begin + 1;
      PrintAxis(iters[begin], realize.iter_values[begin]);
    }
  }
  void PrintRemap(const BlockRealize& realize, size_t begin, size_t end) {
    std::string kinds, values, vars;
    for (size_t i = begin; i < end; ++i) {
      const IterVar& iter = realize.block->iter_vars[i];
      kinds += RemapLetter(iter.kind);
      values += (i == begin ? "" : ", ") + exprs_.Print(realize.iter_values[i]);
    }
    for (size_t i = begin; i < end; ++i) {
      const Var& var = realize.block->iter_vars[i].var;
      vars += (i == begin ? "" : ", ") + names_.Define(var.get(), var.name());
    }
    Line(fmt::format("{} = T.axis.remap(\"{}\", [{}])", vars, kinds, values));
  }
  void PrintAxis(const IterVar& iter, const std::optional<Expr>& value) {
    std::string args = exprs_.PrintDomain(iter.domain);
    if (value) args += fmt::format(", {}", exprs_.Print(*value));
    if (iter.var.dtype() != iter.domain.extent.dtype())
      args += fmt::format(", dtype=\"{}\"", iter.var.dtype().ToString());
    Line(
        fmt::format("{} = T.axis.{}({})", names_.Define(iter.var.get(), iter.var.name()), SpellingOf(iter.kind), args));
  }

  NameGiver names_;
  const PrintOptions& options_;
  ExprPrinter exprs_{names_, options_};
  int indent_;
  std::string out_;
  std::vector<std::pair<std::string, Buffer>> matched_;  // Parameters that the body matches.
  const BufferNode* named_ahead_ = nullptr;              // Named by its arguments, before its line begins.
  std::unordered_map<const ExprNode*, const For*> loops_;
  std::unordered_set<const BufferNode*> added_;  // What nothing declares but this text.
};

#undef LATHE_OWN_FRAME

}  // namespace

std::string Print(const PrimFunc& func, const PrintOptions& options) {
  Printer printer(0, options);
  printer.PrintFunc(func);
  if (!options.as_tvm) return printer.Finish();
  return Respell(fmt::format("# from tvm.script import {} as T\n\n", DialectOf(options)) + printer.Finish(), options);
}

namespace {

// TVM's order is that of the names, main last; ours that of the module.
std::vector<const PrimFunc*> InOrder(const IRModule& module, const PrintOptions& options) {
  std::vector<const PrimFunc*> funcs;
  for (const PrimFunc& func : module.prim_funcs) funcs.push_back(&func);
  const auto key = [](const PrimFunc* func) {
    return std::pair<bool, std::string_view>(func->name == "main", func->name);
  };
  if (options.as_tvm)
    std::sort(funcs.begin(), funcs.end(), [&](const PrimFunc* a, const PrimFunc* b) { return key(a) < key(b); });
  return funcs;
}

}  // namespace

std::string Print(const IRModule& module, const PrintOptions& options) {
  std::string text = Imports(options);
  text += fmt::format("@I.ir_module\nclass {}:\n", options.name.empty() ? "Module" : options.name);
  NameGiver names;
  ExprPrinter exprs(names);
  if (!module.attrs.empty()) text += fmt::format("    I.module_attrs({})\n", exprs.PrintAttrs(module.attrs));
  if (!module.global_infos.empty())
    text += fmt::format("    I.module_global_infos({})\n", exprs.PrintAttrs(module.global_infos));
  if (module.prim_funcs.empty() && module.attrs.empty() && module.global_infos.empty()) text += "    pass\n";
  PrintOptions inner = options;
  inner.name.clear();
  const std::vector<const PrimFunc*> funcs = InOrder(module, options);
  for (const PrimFunc* func : funcs) {
    Printer printer(1, inner);
    printer.PrintFunc(*func);
    text += (func == funcs[0] ? "" : "\n") + printer.Finish();
  }
  return Respell(std::move(text), options);
}

std::string Print(const Stmt& stmt, const PrintOptions& options) {
  Printer printer(0, options);
  printer.PrintStmt(stmt);
  return Respell(printer.Finish(), options);
}

std::string Print(const Block& block, const PrintOptions& options) {
  Printer printer(0, options);
  printer.PrintBlock(*block);
  return Respell(printer.Finish(), options);
}

namespace {

std::string Trimmed(std::string lines) {
  if (lines.ends_with('\n')) lines.pop_back();
  return lines;
}

// What is not a statement: `text` gives it by an ExprPrinter.
template <typename Text>
std::string PrintOne(const PrintOptions& options, Text text) {
  Printer printer(0, options);
  printer.PrintAlone(text(printer.exprs()));
  return Trimmed(Respell(printer.Finish(), options));
}

}  // namespace

std::string Print(const Expr& expr, const PrintOptions& options) {
  return PrintOne(options, [&](ExprPrinter& exprs) { return exprs.Print(expr); });
}
std::string Print(const IterVar& axis, const PrintOptions& options) {
  return PrintOne(options, [&](ExprPrinter& exprs) { return exprs.PrintIterVar(axis); });
}
std::string Print(const CommReducer& reducer, const PrintOptions& options) {
  return PrintOne(options, [&](ExprPrinter& exprs) { return exprs.PrintReducer(reducer); });
}
std::string Print(const Buffer& buffer, const PrintOptions& options) {
  return PrintOne(options, [&](ExprPrinter& exprs) { return exprs.NameOf(buffer); });
}
std::string Print(const BufferRegion& region, const PrintOptions& options) {
  return PrintOne(options, [&](ExprPrinter& exprs) { return exprs.PrintRegion(region); });
}
std::string Print(const MatchBufferRegion& match, const PrintOptions& options) {
  Printer printer(0, options);
  printer.PrintMatch(match);
  return Trimmed(Respell(printer.Finish(), options));
}

std::string Print(const Stmt& stmt) {
  const PrintOptions options;
  Printer printer(0, options);
  printer.PrintStmt(stmt);
  return printer.Finish();
}

std::string Print(const Expr& expr) {
  NameGiver names;
  return ExprPrinter(names).Print(expr);
}

std::string Print(const BufferRegion& region) {
  NameGiver names;
  return ExprPrinter(names).PrintRegion(region);
}

}  // namespace lathe
