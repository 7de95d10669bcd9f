#!/usr/bin/env python3
"""Functions of the C++ tree are short: median at most 6 lines, 99 of 100 at most 40.

A function's size is its lines from the first of its signature to its closing brace, comments and lambdas within included.
Prints the longest. `function_sizes.py FOLDER...` looks at these folders only.
"""
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("support", "runtime", "runner", "compiler", "tracker", "rpc", "tuner", "cli", "client", "python", "deploy", "tests")
MEDIAN_BAR, P99_BAR, SHOWN = 6, 40, 20

# What is no code: comments, strings, characters, preprocessor lines.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:\\\n|[^\n])*',
    re.S | re.M)


def blank(match):
    """As many lines, no code; a string stays an expression."""
    kept = "\n" * match.group().count("\n")
    return ('""' if match.group()[0] in "\"R'" else "") + kept


def depth0(text):
    """`text` without what is within (), [] and <> of it; parentheses leave "()"."""
    text = re.sub(r"operator\s*(\(\)|\[\]|[^\s\w(]+)", "operator_", text)
    text = re.sub(r"\[\[.*?\]\]", "", text, flags=re.S)
    while True:
        shorter = re.sub(r"\(((?!\x01)[^()]*)\)", "\x01\x02", text)
        if shorter == text:
            return re.sub(r"<[^<>]*>", "", re.sub(r"<[^<>]*>", "", text)).replace("\x01\x02", "()")
        text = shorter


def kind_of(head):
    """What a brace after `head` opens, outside of functions: "scope", "function", "member" (of a list of initializers) or "value"."""
    flat = depth0(head).strip()
    if re.search(r"\bnamespace\b|\bextern\s*\"\"$", flat):
        return "scope"
    if "=" in flat:
        return "value"
    if "()" not in flat:
        return "scope" if re.search(r"\b(class|struct|union|enum)\b", flat) else "value"
    has_initializers = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", flat)
    if has_initializers and not re.search(r"[)}]$", flat):
        return "member"
    if re.match(r"(?:template\s*)?(class|struct|union|enum)\b", flat) and not re.search(r"\w\s+[\w:~]+\s*\(\)", flat):
        return "scope"
    return "function"


def closing(code, at):
    """The place of the brace that closes the one at `at`."""
    level = 0
    for brace in re.compile(r"[{}]").finditer(code, at):
        level += 1 if brace.group() == "{" else -1
        if level == 0:
            return brace.start()
    raise ValueError(f"line {code.count(chr(10), 0, at) + 1}: no closing brace")


def functions(text):
    """(first line, lines, signature) of each function."""
    code = NO_CODE.sub(blank, text)
    head_at, at = 0, 0
    while (mark := re.compile(r"[{};]|\b(?:public|private|protected):").search(code, at)) is not None:
        at = mark.end()
        if mark.group() != "{":
            head_at = at
            continue
        head = code[head_at:mark.start()]
        kind = kind_of(head)
        if kind == "scope":
            head_at = at
            continue
        end = closing(code, mark.start())
        at = end + 1
        if kind == "function":
            begin = head_at + len(head) - len(head.lstrip())
            first = code.count("\n", 0, begin) + 1
            yield first, code.count("\n", begin, end) + 1, " ".join(head.split())
        if kind == "member":
            code = code[:mark.start()] + "(" + code[mark.end():end] + ")" + code[end + 1:]
        else:
            head_at = at


def check_itself():
    sample = """
namespace x {
struct A : B<C()> {
  A(int n) : n_(n), m_{n} {}
  bool operator==(const A&) const = default;
  auto f() const -> int {
    const auto g = [] { return 1; };  // }
    return g();
  }
  int m_ = 0;
  std::vector<int> values{1, 2};
};
constexpr int kTable[] = {1,
                          2};
const auto kMake = [](int x) {
  return x;
};
template <typename T>
T Twice(T x) {
  return 2 * x;
}
struct A Make(int a,
              int b) {
  return {'{'};
}
TEST(Name, Other) {
  EXPECT_EQ(R"({{)", "}");
}
}  // namespace x
"""
    sizes = [lines for _, lines, _ in functions(sample)]
    assert sizes == [1, 4, 4, 4, 3], sizes


def main(folders):
    check_itself()
    found = []
    for folder in folders or FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                found += [(lines, f"{path.relative_to(ROOT)}:{first}", head) for first, lines, head in functions(path.read_text())]
    assert folders or len(found) > 3000, f"only {len(found)} functions were found"
    found.sort(reverse=True)
    sizes = sorted(lines for lines, _, _ in found)
    median, p99 = statistics.median_low(sizes), sizes[min(len(sizes) - 1, len(sizes) * 99 // 100)]
    for lines, place, head in found[:SHOWN]:
        print(f"{lines:4} {place}: {head[:100]}")
    print(f"{len(sizes)} functions: median {median} lines (at most {MEDIAN_BAR}), p99 {p99} (at most {P99_BAR}), longest {sizes[-1]}")
    return 0 if median <= MEDIAN_BAR and p99 <= P99_BAR else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
