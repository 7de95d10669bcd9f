#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "compiler/script/python_ast.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kLeafHeight = 8;  // Of the syntax of one leaf of the IR, e.g. T.float32(1).
constexpr int kComparePrecedence = 4, kNotPrecedence = 3, kUnaryPrecedence = 11;

// What a token is asked to be: a name or an operator.
struct Word {
  uint64_t bits;
  consteval Word(const char* text) : bits(PackWord(text)) {}  // NOLINT: stands for the text
  constexpr explicit Word(std::string_view text) : bits(PackWord(text)) {}
};

int Precedence(const Token& token) {  // 0: no binary operator.
  struct Row {
    Word word;
    int precedence;
  };
  static constexpr Row kRows[] = {{"or", 1}, {"and", 2}, {"<", 4},  {"<=", 4}, {">", 4}, {">=", 4},
                                  {"==", 4}, {"is", 4},  {"!=", 4}, {"in", 4}, {"|", 5}, {"^", 6},
                                  {"&", 7},  {"<<", 8},  {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10},
                                  {"/", 10}, {"//", 10}, {"%", 10}, {"**", 12}};
  if (token.word == 0) return 0;
  for (const auto& [word, precedence] : kRows) {
    if (token.word == word.bits) return precedence;
  }
  return 0;
}

bool IsKeyword(const Token& token) {
  static constexpr Word kWords[] = {"and",    "as",   "assert", "async",  "await",  "break",   "class",    "continue",
                                    "def",    "del",  "elif",   "else",   "except", "finally", "for",      "from",
                                    "global", "if",   "import", "in",     "is",     "lambda",  "nonlocal", "not",
                                    "or",     "pass", "raise",  "return", "try",    "while",   "with",     "yield"};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](Word word) { return word.bits == token.word; });
}

// Keeps what one method needs out of the frames of the others: a deep text must fit the stack.
#define LATHE_OWN_FRAME [[gnu::noinline]]

// Recursive descent. A method that fails stores the first error and returns null or false: frames stay small.
class PythonParser {
 public:
  PythonParser(const Source& source, std::vector<Token> tokens) : source_(source), tokens_(std::move(tokens)) {}

  StatusOr<PyFile> Run() {
    while (At().kind != TokenKind::kEnd) {
      if (!Statement(file_.body)) return error_;
    }
    return std::move(file_);
  }

 private:
  // ---- Tokens
  const Token& At() const { return tokens_[next_]; }
  bool Is(Word word) const { return At().word == word.bits; }
  bool Take(Word word) {
    if (!Is(word)) return false;
    ++next_;
    return true;
  }
  bool Take(TokenKind kind) {
    if (At().kind != kind) return false;
    ++next_;
    return true;
  }
  // What a method returns after the error has been stored.
  struct Failed {
    operator const PyExpr*() const { return nullptr; }  // NOLINT
    operator bool() const { return false; }             // NOLINT
  };
  LATHE_OWN_FRAME Failed Fail(uint32_t offset, std::string_view message) {
    if (error_.ok()) error_ = ErrorAt(source_, offset, message);
    return {};
  }
  LATHE_OWN_FRAME Failed FailExpected(std::string_view what) {
    return Fail(At().offset, fmt::format("expected {}, got {}", what, Describe(At())));
  }
  LATHE_OWN_FRAME Failed FailExpectedOr(std::string_view a, std::string_view b) {
    return FailExpected(fmt::format("\"{}\" or \"{}\"", a, b));
  }
  LATHE_OWN_FRAME bool Expect(std::string_view text) {
    return Take(Word(text)) || FailExpected(fmt::format("\"{}\"", text));
  }
  bool Expect(TokenKind kind, std::string_view what) { return Take(kind) || FailExpected(what); }
  bool ExpectName(std::string_view what, std::string_view& name) {
    if (At().kind != TokenKind::kName || IsKeyword(At())) return FailExpected(what);
    name = At().text;
    ++next_;
    return true;
  }

  // ---- Nodes
  LATHE_OWN_FRAME PyExpr* NewExpr(PyExprKind kind, uint32_t offset) {
    PyExpr& expr = file_.exprs.emplace_back();
    expr.kind = kind;
    expr.offset = expr.begin = offset;
    expr.end = EndOfLast();
    return &expr;
  }
  LATHE_OWN_FRAME PyStmt* NewStmt(PyStmtKind kind, uint32_t offset) {
    PyStmt& stmt = file_.stmts.emplace_back();
    stmt.kind = kind;
    stmt.offset = offset;
    return &stmt;
  }
  uint32_t EndOfLast() const {
    return next_ == 0 ? 0 : tokens_[next_ - 1].offset + uint32_t(tokens_[next_ - 1].text.size());
  }
  // The node with its height and text known; null if it is too deep.
  LATHE_OWN_FRAME const PyExpr* Finish(PyExpr* expr) {
    int height = 0;
    for (const PyExpr* item : expr->items) {
      height = std::max(height, item->height);
      expr->begin = std::min(expr->begin, item->begin);
    }
    expr->end = EndOfLast();
    expr->height = height + 1;
    if (expr->kind == PyExprKind::kLogical || expr->kind == PyExprKind::kCompare)
      expr->height = height + int(expr->items.size());
    if (expr->height > kMaxNesting + kLeafHeight) return FailDepth(expr->offset);
    return expr;
  }
  LATHE_OWN_FRAME Failed FailDepth(uint32_t offset) {
    return Fail(offset, fmt::format("nested more than {} deep; split it up", kMaxNesting));
  }

  // ---- Expressions
  const PyExpr* Expression() {
    if (++depth_ > kMaxNesting + kLeafHeight) return FailDepth(At().offset);
    const PyExpr* expr = Is("lambda") ? Lambda() : Is("*") ? Star() : BinaryFrom(1);
    if (expr != nullptr && Is("if")) expr = Conditional(expr);
    --depth_;
    return expr;
  }
  LATHE_OWN_FRAME const PyExpr* Conditional(const PyExpr* value) {
    PyExpr* node = NewExpr(PyExprKind::kConditional, At().offset);
    node->items.push_back(value);
    ++next_;
    const PyExpr* condition = BinaryFrom(1);
    if (condition == nullptr || !Expect("else")) return nullptr;
    const PyExpr* otherwise = Expression();
    if (otherwise == nullptr) return nullptr;
    node->items.push_back(condition);
    node->items.push_back(otherwise);
    return Finish(node);
  }
  LATHE_OWN_FRAME const PyExpr* Star() {
    PyExpr* node = NewExpr(PyExprKind::kStar, At().offset);
    ++next_;
    const PyExpr* value = BinaryFrom(1);
    if (value == nullptr) return nullptr;
    node->items.push_back(value);
    return Finish(node);
  }
  LATHE_OWN_FRAME const PyExpr* Lambda() {
    PyExpr* node = NewExpr(PyExprKind::kLambda, At().offset);
    ++next_;
    while (!Take(":")) {
      Take("*");
      std::string_view name;
      if (!ExpectName("a parameter of the lambda", name)) return nullptr;
      node->keywords.push_back(name);
      if (!Is(":") && !Take(",")) return FailExpected("\",\" or \":\"");
    }
    const PyExpr* body = Expression();
    if (body == nullptr) return nullptr;
    node->items.push_back(body);
    return Finish(node);
  }
  // The rest of a comprehension, up to the closing bracket, unread: only an evaluator knows what it means.
  LATHE_OWN_FRAME const PyExpr* Comprehension(uint32_t begin, std::string_view close) {
    PyExpr* node = NewExpr(PyExprKind::kForeign, begin);
    for (int depth = 0; depth > 0 || !Is(Word(close)); ++next_) {
      if (At().kind == TokenKind::kEnd || At().kind == TokenKind::kNewline)
        return FailExpected(fmt::format("\"{}\"", close));
      depth += Is("(") || Is("[") || Is("{") ? 1 : Is(")") || Is("]") || Is("}") ? -1 : 0;
    }
    ++next_;
    return Finish(node);
  }
  // What a loop runs over ends before its "in".
  const PyExpr* Target() {
    const bool was_target = std::exchange(is_target_, true);
    const PyExpr* target = ExpressionList();
    is_target_ = was_target;
    return target;
  }
  // expression, or a tuple without parentheses
  const PyExpr* ExpressionList() {
    const uint32_t offset = At().offset;
    const PyExpr* first = Expression();
    if (first == nullptr || !Is(",")) return first;
    PyExpr* tuple = NewExpr(PyExprKind::kTuple, offset);
    tuple->items.push_back(first);
    while (Take(",")) {
      if (At().kind == TokenKind::kNewline || Is("=") || Is(")") || Is("in") || Is(":")) break;
      const PyExpr* item = Expression();
      if (item == nullptr) return nullptr;
      tuple->items.push_back(item);
    }
    return Finish(tuple);
  }
  LATHE_OWN_FRAME const PyExpr* BinaryFrom(int lowest) {
    const PyExpr* left = Unary();
    while (left != nullptr) {
      const int precedence = IsNotIn() ? kComparePrecedence : Precedence(At());
      if (precedence == 0 || precedence < lowest || (is_target_ && Is("in"))) break;
      left = precedence == kComparePrecedence ? Compare(left)
             : precedence <= 2                ? Logical(left, precedence)
                                              : Binary(left, precedence);
    }
    return left;
  }
  LATHE_OWN_FRAME const PyExpr* Binary(const PyExpr* left, int precedence) {
    PyExpr* node = NewExpr(PyExprKind::kBinary, At().offset);
    node->text = At().text;
    ++next_;
    const bool is_power = node->text == "**";  // Groups from the right.
    if (is_power && ++depth_ > kMaxNesting + kLeafHeight) return FailDepth(node->offset);
    const PyExpr* right = BinaryFrom(is_power ? precedence : precedence + 1);
    if (right == nullptr) return nullptr;
    if (is_power) --depth_;
    node->items.push_back(left);
    node->items.push_back(right);
    return Finish(node);
  }
  LATHE_OWN_FRAME const PyExpr* Logical(const PyExpr* left, int precedence) {
    PyExpr* node = NewExpr(PyExprKind::kLogical, At().offset);
    node->text = At().text;
    node->items.push_back(left);
    while (Take(Word(node->text))) {
      const PyExpr* right = BinaryFrom(precedence + 1);
      if (right == nullptr) return nullptr;
      node->items.push_back(right);
    }
    return Finish(node);
  }
  bool IsNotIn() const { return Is("not") && tokens_[next_ + 1].word == Word("in").bits; }
  LATHE_OWN_FRAME const PyExpr* Compare(const PyExpr* left) {
    PyExpr* node = NewExpr(PyExprKind::kCompare, At().offset);
    node->items.push_back(left);
    while (IsNotIn() || Precedence(At()) == kComparePrecedence) {
      // Only an evaluator knows what is the same, and what is in a list.
      if (Is("is") || Is("in") || Is("not")) node->kind = PyExprKind::kForeign;
      if (IsNotIn()) ++next_;
      node->operators.push_back(At().text);
      ++next_;
      if (node->operators.back() == "is") Take("not");
      const PyExpr* right = BinaryFrom(kComparePrecedence + 1);
      if (right == nullptr) return nullptr;
      node->items.push_back(right);
    }
    return Finish(node);
  }
  LATHE_OWN_FRAME const PyExpr* Unary() {
    if (!Is("-") && !Is("+") && !Is("~") && !Is("not")) return Postfix();
    PyExpr* node = NewExpr(PyExprKind::kUnary, At().offset);
    node->text = At().text;
    ++next_;
    if (++depth_ > kMaxNesting + kLeafHeight) return FailDepth(node->offset);
    const PyExpr* operand = BinaryFrom(node->text == "not" ? kNotPrecedence : kUnaryPrecedence);
    if (operand == nullptr) return nullptr;
    --depth_;
    node->items.push_back(operand);
    return Finish(node);
  }
  LATHE_OWN_FRAME const PyExpr* Postfix() {
    const PyExpr* left = Atom();
    while (left != nullptr && At().kind == TokenKind::kOperator) {
      const uint32_t offset = left->offset;
      if (Take(".")) {
        PyExpr* node = NewExpr(PyExprKind::kAttribute, offset);
        if (!ExpectName("a name", node->text)) return nullptr;
        node->items.push_back(left);
        left = Finish(node);
      } else if (Take("(")) {
        left = Call(left);
      } else if (Take("[")) {
        left = Subscript(left);
      } else {
        break;
      }
    }
    return left;
  }
  LATHE_OWN_FRAME const PyExpr* Call(const PyExpr* callee) {
    PyExpr* node = NewExpr(PyExprKind::kCall, callee->offset);
    node->items.push_back(callee);
    while (!Take(")")) {
      if (At().kind == TokenKind::kName && tokens_[next_ + 1].word == Word("=").bits) {
        node->keywords.push_back(At().text);
        next_ += 2;
      } else if (!node->keywords.empty() && !Is("**")) {
        return FailExpected("a keyword argument");
      }
      if (Take("**")) node->kind = PyExprKind::kForeign;  // f(**options)
      const uint32_t begin = At().offset;
      const PyExpr* argument = Expression();
      if (argument == nullptr) return nullptr;
      if (Is("for")) {  // f(x for x in y)
        argument = Comprehension(begin, ")");
        if (argument == nullptr) return nullptr;
        node->items.push_back(argument);
        const_cast<PyExpr*>(argument)->end = EndOfLast() - 1;
        return Finish(node);
      }
      node->items.push_back(argument);
      if (!Is(")") && !Take(",")) return FailExpected("\",\" or \")\"");
    }
    return Finish(node);
  }
  LATHE_OWN_FRAME const PyExpr* Subscript(const PyExpr* object) {
    PyExpr* node = NewExpr(PyExprKind::kSubscript, object->offset);
    node->items.push_back(object);
    if (Is("]")) return FailExpected("an index");
    while (!Take("]")) {
      const PyExpr* index = Slice();
      if (index == nullptr) return nullptr;
      node->items.push_back(index);
      if (!Is("]") && !Take(",")) return FailExpected("\",\" or \"]\"");
    }
    return Finish(node);
  }
  LATHE_OWN_FRAME const PyExpr* Slice() {
    const uint32_t offset = At().offset;
    const PyExpr* begin = Is(":") ? NewExpr(PyExprKind::kNone, offset) : Expression();
    if (begin == nullptr || !Take(":")) return begin;
    PyExpr* node = NewExpr(PyExprKind::kSlice, offset);
    const PyExpr* end = Is("]") || Is(",") || Is(":") ? NewExpr(PyExprKind::kNone, At().offset) : Expression();
    if (end == nullptr) return nullptr;
    node->items.push_back(begin);
    node->items.push_back(end);
    if (Take(":")) {
      const PyExpr* step = Expression();
      if (step == nullptr) return nullptr;
      node->items.push_back(step);
    }
    return Finish(node);
  }
  const PyExpr* Atom() {
    const Token& token = At();
    switch (token.kind) {
      case TokenKind::kName:
        return Name(token);
      case TokenKind::kInt:
        return Int(token);
      case TokenKind::kFloat:
        return Float(token);
      case TokenKind::kString:
        return String(token);
      default:
        break;
    }
    if (Take("(")) return Bracketed(token.offset, PyExprKind::kTuple, ")");
    if (Take("[")) return Bracketed(token.offset, PyExprKind::kList, "]");
    if (Take("{")) return Dict(token.offset);
    return FailExpected("an expression");
  }
  LATHE_OWN_FRAME const PyExpr* Name(const Token& token) {
    if (IsKeyword(token)) return FailExpected("an expression");
    ++next_;
    if (At().kind == TokenKind::kString && At().offset == EndOfLast()) return Formatted(token.offset);
    PyExpr* node = NewExpr(PyExprKind::kName, token.offset);
    if (token.text == "True") node->kind = PyExprKind::kTrue;
    if (token.text == "False") node->kind = PyExprKind::kFalse;
    if (token.text == "None") node->kind = PyExprKind::kNone;
    node->text = token.text;
    return node;
  }
  LATHE_OWN_FRAME const PyExpr* Formatted(uint32_t offset) {  // f"..."
    ++next_;
    return NewExpr(PyExprKind::kForeign, offset);
  }
  LATHE_OWN_FRAME const PyExpr* Int(const Token& token) {
    ++next_;
    std::string digits(token.text);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    int base = 10;
    std::string_view rest = digits;
    if (rest.size() > 1 && rest[0] == '0' && !std::isdigit(static_cast<unsigned char>(rest[1]))) {
      base = std::tolower(rest[1]) == 'x' ? 16 : std::tolower(rest[1]) == 'b' ? 2 : 8;
      rest.remove_prefix(2);
    }
    PyExpr* node = NewExpr(PyExprKind::kInt, token.offset);
    node->text = token.text;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), node->int_value, base);
    if (error != std::errc() || end != rest.data() + rest.size()) {
      return Fail(token.offset,
                  fmt::format("expected an integer of at most 64 bits, got \"{}\"", token.text.substr(0, 60)));
    }
    return node;
  }
  LATHE_OWN_FRAME const PyExpr* Float(const Token& token) {
    ++next_;
    std::string digits(token.text);
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    PyExpr* node = NewExpr(PyExprKind::kFloat, token.offset);
    node->text = token.text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), node->float_value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      return Fail(token.offset,
                  fmt::format("expected a float within the range of float64, got \"{}\"", token.text.substr(0, 60)));
    }
    return node;
  }
  LATHE_OWN_FRAME const PyExpr* String(const Token& token) {
    PyExpr* node = NewExpr(PyExprKind::kString, token.offset);
    while (At().kind == TokenKind::kString) {  // Neighbours are joined, as in Python.
      StatusOr<std::string> text = DecodeString(source_, At());
      if (!text.ok()) {
        if (error_.ok()) error_ = text.status();
        return nullptr;
      }
      node->string_value += *text;
      ++next_;
    }
    return node;
  }
  LATHE_OWN_FRAME const PyExpr* Bracketed(uint32_t offset, PyExprKind kind, std::string_view close) {
    PyExpr* node = NewExpr(kind, offset);
    bool has_comma = false;
    while (!Take(Word(close))) {
      const PyExpr* item = Expression();
      if (item == nullptr) return nullptr;
      if (Is("for")) return Comprehension(offset, close);
      node->items.push_back(item);
      if (Take(",")) {
        has_comma = true;
      } else if (!Is(Word(close))) {
        return FailExpectedOr(",", close);
      }
    }
    if (kind == PyExprKind::kTuple && node->items.size() == 1 && !has_comma) {  // Plain parentheses.
      PyExpr* inner = const_cast<PyExpr*>(node->items[0]);                      // The file owns it as it is.
      inner->begin = offset;
      inner->end = EndOfLast();
      return inner;
    }
    return Finish(node);
  }
  LATHE_OWN_FRAME const PyExpr* Dict(uint32_t offset) {
    PyExpr* node = NewExpr(PyExprKind::kDict, offset);
    while (!Take("}")) {
      const PyExpr* key = Expression();
      if (key == nullptr || !Expect(":")) return nullptr;
      const PyExpr* value = Expression();
      if (value == nullptr) return nullptr;
      if (Is("for")) return Comprehension(offset, "}");
      node->items.push_back(key);
      node->items.push_back(value);
      if (!Is("}") && !Take(",")) return FailExpected("\",\" or \"}\"");
    }
    return Finish(node);
  }

  // ---- Statements
  bool Statement(std::vector<const PyStmt*>& out) {
    if (At().kind == TokenKind::kIndent) return FailExpected("a statement");
    if (++stmt_depth_ > kMaxNesting) return FailDepth(At().offset);
    const bool ok = Is("for") || Is("while") || Is("if") || Is("with") || Is("def") || Is("class") || Is("@")
                        ? Compound(out)
                        : SimpleLine(out);
    --stmt_depth_;
    return ok;
  }
  bool SimpleLine(std::vector<const PyStmt*>& out) {
    do {
      if (At().kind == TokenKind::kNewline) break;  // After a closing semicolon.
      if (!Simple(out)) return false;
    } while (Take(";"));
    return Expect(TokenKind::kNewline, "end of line");
  }
  bool Compound(std::vector<const PyStmt*>& out) {
    const uint32_t offset = At().offset;
    if (Is("@") || Is("def") || Is("class")) return Decorated(out);
    if (Take("for")) return For(offset, out);
    if (Take("while")) return While(offset, out);
    if (Take("with")) return With(offset, out);
    ++next_;
    return If(offset, out);
  }
  bool Suite(std::vector<const PyStmt*>& body) {
    if (!Expect(":")) return false;
    if (!Take(TokenKind::kNewline)) return SimpleLine(body);
    if (!Expect(TokenKind::kIndent, "an indented line")) return false;
    while (!Take(TokenKind::kDedent)) {
      if (!Statement(body)) return false;
    }
    return true;
  }
  bool For(uint32_t offset, std::vector<const PyStmt*>& out) {
    PyStmt* stmt = NewStmt(PyStmtKind::kFor, offset);
    out.push_back(stmt);
    return (stmt->target = Target()) && Expect("in") && (stmt->value = ExpressionList()) && Suite(stmt->body);
  }
  bool While(uint32_t offset, std::vector<const PyStmt*>& out) {
    PyStmt* stmt = NewStmt(PyStmtKind::kWhile, offset);
    out.push_back(stmt);
    return (stmt->value = Expression()) && Suite(stmt->body);
  }
  bool With(uint32_t offset, std::vector<const PyStmt*>& out) {
    PyStmt* stmt = NewStmt(PyStmtKind::kWith, offset);
    out.push_back(stmt);
    if (!(stmt->value = Expression())) return false;
    if (Take("as") && !(stmt->target = Expression())) return false;
    if (!Take(",")) return Suite(stmt->body);
    if (++stmt_depth_ > kMaxNesting) return FailDepth(offset);
    const bool ok = With(At().offset, stmt->body);  // with a as x, b as y: one in the other.
    --stmt_depth_;
    return ok;
  }
  bool If(uint32_t offset, std::vector<const PyStmt*>& out) {
    PyStmt* stmt = NewStmt(PyStmtKind::kIf, offset);
    out.push_back(stmt);
    if (++stmt_depth_ > kMaxNesting) return FailDepth(offset);
    bool ok = (stmt->value = Expression()) && Suite(stmt->body);
    const uint32_t next_offset = At().offset;
    if (ok && Take("elif")) {
      ok = If(next_offset, stmt->orelse);
    } else if (ok && Take("else")) {
      ok = Suite(stmt->orelse);
    }
    --stmt_depth_;
    return ok;
  }
  bool Decorated(std::vector<const PyStmt*>& out) {
    std::vector<const PyExpr*> decorators;
    while (Take("@")) {
      const PyExpr* decorator = Expression();
      if (decorator == nullptr || !Expect(TokenKind::kNewline, "end of line")) return false;
      decorators.push_back(decorator);
    }
    PyStmt* stmt = NewStmt(PyStmtKind::kFunction, At().offset);
    stmt->decorators = std::move(decorators);
    out.push_back(stmt);
    if (Take("class")) {
      stmt->kind = PyStmtKind::kClass;
      if (!ExpectName("the name of the class", stmt->text)) return false;
      if (Take("(") && !Expect(")")) return false;
      return Suite(stmt->body);
    }
    if (!Take("def")) return FailExpected("\"def\" or \"class\"");
    return ExpectName("the name of the function", stmt->text) && Params(stmt->params) &&
           (!Take("->") || (stmt->annotation = Expression())) && Suite(stmt->body);
  }
  bool Params(std::vector<PyParam>& params) {
    if (!Expect("(")) return false;
    while (!Take(")")) {
      const bool is_after_rest = !params.empty() && params.back().kind != PyParamKind::kPlain;
      PyParam param{.offset = At().offset, .kind = is_after_rest ? PyParamKind::kKeyword : PyParamKind::kPlain};
      if (!is_after_rest && Take("*")) param.kind = PyParamKind::kRest;
      if (Take("**")) param.kind = PyParamKind::kKeywords;
      const bool is_bare = param.kind == PyParamKind::kRest && Is(",");
      if (!is_bare && !ExpectName("the name of a parameter", param.name)) return false;
      if (Take(":") && !(param.annotation = Expression())) return false;
      if (Take("=") && !(param.otherwise = Expression())) return false;
      params.push_back(param);
      if (!Is(")") && !Take(",")) return FailExpected("\",\" or \")\"");
    }
    return true;
  }
  bool Simple(std::vector<const PyStmt*>& out) {
    PyStmt* stmt = NewStmt(PyStmtKind::kPass, At().offset);
    out.push_back(stmt);
    if (Take("pass")) return true;
    if (Take("return")) {
      stmt->kind = PyStmtKind::kReturn;
      return At().kind == TokenKind::kNewline || Is(";") || (stmt->value = ExpressionList());
    }
    if (Is("import") || Is("from")) return Import(stmt);
    if (Take("assert")) {
      stmt->kind = PyStmtKind::kAssert;
      return (stmt->value = Expression()) && (!Take(",") || (stmt->message = Expression()));
    }
    return AssignOrExpr(stmt);
  }
  bool AssignOrExpr(PyStmt* stmt) {
    if (At().kind == TokenKind::kName && IsKeyword(At()) && At().text != "not" && At().text != "lambda")
      return FailExpected("a statement of TVMScript");
    stmt->kind = PyStmtKind::kExpr;
    if (!(stmt->value = ExpressionList())) return false;
    const bool is_augmented =
        At().kind == TokenKind::kOperator && At().text.size() > 1 && At().text.back() == '=' && Precedence(At()) == 0;
    if (!Is("=") && !Is(":") && !is_augmented) return true;
    stmt->kind = PyStmtKind::kAssign;
    stmt->target = stmt->value;
    stmt->value = nullptr;
    if (Take(":") && !(stmt->annotation = Expression())) return false;
    if (is_augmented) stmt->text = At().text.substr(0, At().text.size() - 1);
    if (is_augmented || Is("=")) {
      ++next_;
      return (stmt->value = ExpressionList()) != nullptr;
    }
    return FailExpected("\"=\"");
  }
  bool DottedName(std::string_view& last) {
    do {
      if (!ExpectName("a module", last)) return false;
    } while (Take("."));
    return true;
  }
  bool Import(PyStmt* stmt) {
    stmt->kind = PyStmtKind::kImport;
    std::string_view module;
    const char* const begin = tokens_[std::min(next_ + 1, tokens_.size() - 1)].text.data();
    if (Take("from")) {
      if (!DottedName(module)) return false;
      stmt->text = std::string_view(begin, static_cast<size_t>(module.data() + module.size() - begin));
    }
    if (!Expect("import")) return false;
    const bool in_brackets = Take("(");
    do {
      if (in_brackets && Is(")")) break;
      std::string_view name;
      if (!DottedName(name)) return false;
      std::string_view alias = name;
      if (Take("as") && !ExpectName("a name", alias)) return false;
      stmt->names.emplace_back(name, alias);
    } while (Take(","));
    return !in_brackets || Expect(")");
  }

  const Source& source_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int depth_ = 0, stmt_depth_ = 0;
  bool is_target_ = false;
  PyFile file_;
  Status error_;
};

#undef LATHE_OWN_FRAME

}  // namespace

StatusOr<PyFile> ParsePython(const Source& source) {
  ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  return PythonParser(source, std::move(tokens)).Run();
}

}  // namespace lathe
