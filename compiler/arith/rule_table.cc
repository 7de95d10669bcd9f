// What expressions become, by operation: the forms that programs written for TVM compare with. Order matters: the first
// rule that fits is taken. Each is checked against enumeration in tests/compiler/arith/rules_test.cc.
//
// "vector" sets are for vectors, "any" sets for all types, the others for int32 and int64 and conditions on them.
#include "compiler/arith/rules.h"

namespace lathe {
namespace {

// One rule a line, or on several that end in a backslash.
struct RuleText {
  std::string_view set, rules;
};
constexpr RuleText kRuleTexts[] = {
    {"add vector", R"(
ramp(b, s, n) + ramp(d, t, n) => ramp(b + d, s + t, n)
ramp(b, s, n) + bcast(x, n) => ramp(b + x, s, n)
bcast(x, n) + ramp(b, s, n) => ramp(x + b, s, n)
bcast(x, n) + bcast(y, n) => bcast(x + y, n)
)"},
    {"add", R"(
(x - y) + y => x
x + (y - x) => y
(x - y) + (y - z) => x - z
(x - y) + (z - x) => z - y
mn(x, y - z) + z => mn(x + z, y)
mn(x - z, y) + z => mn(x, y + z)
mn(x, y + z * c1) + z * c2 or mn(y + z * c1, x) + z * c2 => mn(x + z * c2, y) if c1 == -c2
max(x, y) + min(x, y) or min(x, y) + max(x, y) or max(x, y) + min(y, x) or min(x, y) + max(y, x) => x + y
mn(x, y + c1) + c2 => mn(x + c2, y) if c1 == -c2
mn(x + c1, y) + c2 => mn(x, y + c2) if c1 == -c2
# Equal parts.
(x + c1) + c2 => x + (c1 + c2)
x + x => x * 2
x * y + x or y * x + x or x + y * x or x + x * y => (y + 1) * x
x * y + x * z or y * x + x * z or x * y + z * x or y * x + z * x => (y + z) * x
# Quotients with their remainders.
tdiv(x, c1) * c1 + tmod(x, c1) => x
x // y * y + x % y or y * (x // y) + x % y or x % y + x // y * y or x % y + y * (x // y) => x
(x % c2 + c1) // c2 + x // c2 => (x + c1) // c2 if c2 > 0
x // 2 + x % 2 ~> (x + 1) // 2
(x + c1) % 2 + x % 2 or x % 2 + (x + c1) % 2 => 1 if c1 % 2 == 1
# Constants go last, min and max first.
x + (c1 - y) or (c1 - y) + x ~> (x - y) + c1
(x + c1) + y or x + (c1 + y) or x + (y + c1) ~> (x + y) + c1
x + max(y, z) ~> max(y, z) + x
x + min(y, z) ~> min(y, z) + x
tmod(y, c1) + x * c1 ~> x * c1 + tmod(y, c1)
y % c1 + x * c1 ~> x * c1 + y % c1
)"},
    {"add any", R"(
select(x, b, d) + select(x, s, t) => select(x, b + s, d + t)
)"},
    {"sub vector", R"(
ramp(b, s, n) - ramp(d, t, n) => ramp(b - d, s - t, n)
ramp(b, s, n) - bcast(x, n) => ramp(b - x, s, n)
bcast(x, n) - ramp(b, s, n) => ramp(x - b, 0 - s, n)
bcast(x, n) - bcast(y, n) => bcast(x - y, n)
)"},
    {"sub any", R"(
select(x, b, d) - select(x, s, t) => select(x, b - s, d - t)
)"},
    {"sub integer", R"(
(x + y) - y or (y + x) - y => x
x - (y + x) or x - (x + y) => 0 - y
x - x => 0
select(x, y, z) - z => select(x, y - z, 0)
select(x, y, z) - y => select(x, 0, z - y)
)"},
    {"mul vector", R"(
bcast(x, n) * bcast(y, n) => bcast(x * y, n)
ramp(b, s, n) * bcast(x, n) or bcast(x, n) * ramp(b, s, n) => ramp(b * x, s * x, n)
)"},
    {"mul", R"(
(x + c1) * c2 => x * c2 + c1 * c2
x * c1 * c2 => x * (c1 * c2)
min(x, y) * max(x, y) or max(x, y) * min(x, y) => x * y
(x - x % c2) // c1 * c1 => x - x % c2 if c1 == -c2
x * (c1 * y) ~> x * y * c1
c1 * x ~> x * c1
(x - y) * c1 ~> (y - x) * (0 - c1) if c1 < 0
)"},
    {"sub", R"(
(x + y) - y or (y + x) - y => x
x - (y + x) or x - (x + y) => 0 - y
mn(x, y) - y or x - mx(y, x) => mn(x - y, 0)
x - mx(x, y) or mn(y, x) - y => mn(0, x - y)
x - x => 0
x * y - x or y * x - x => (y - 1) * x
x - y * x or x - x * y => (1 - y) * x
x * y - x * z or y * x - x * z or x * y - z * x or y * x - z * x => (y - z) * x
(x + c1) - c2 => x + (c1 - c2)
(c1 - x) - (c2 - y) => (y - x) + (c1 - c2)
(x + y) - (x + z) or (x + y) - (z + x) or (y + x) - (z + x) or (y + x) - (x + z) => y - z
mn(x + y, z) - x or mn(y + x, z) - x => mn(y, z - x)
mn(z, x + y) - x or mn(z, y + x) - x => mn(z - x, y)
x - mn(x + y, z) or x - mn(y + x, z) => mx(0 - y, x - z)
x - mn(z, x + y) or x - mn(z, y + x) => mx(x - z, 0 - y)
mn(x, y) - mn(y, x) => 0
mn(b, d) - mn(s, t) => b - s if b - s == d - t
mn(b, d) - mn(s, t) => b - t if b - t == d - s
# What division leaves.
x - tdiv(x, c1) * c1 => tmod(x, c1) if c1 != 0
tdiv(x, c1) * c1 - x => 0 - tmod(x, c1) if c1 != 0
x - tdiv(x + y, c1) * c1 => tmod(x + y, c1) - y if c1 != 0
tdiv(x + y, c1) * c1 - x => y - tmod(x + y, c1) if c1 != 0
x - tdiv(x - y, c1) * c1 => tmod(x - y, c1) + y if c1 != 0
tdiv(x - y, c1) * c1 - x => 0 - tmod(x - y, c1) - y if c1 != 0
x * c2 - tdiv(x, c1) * c3 => tmod(x, c1) * c2 if c1 != 0, c3 == c1 * c2
tdiv(x, c1) * c3 - x * c2 => 0 - tmod(x, c1) * c2 if c1 != 0, c3 == c1 * c2
x * c2 - tdiv(x + y, c1) * c3 => (tmod(x + y, c1) - y) * c2 if c1 != 0, c3 == c1 * c2
tdiv(x + y, c1) * c3 - x * c2 => (y - tmod(x + y, c1)) * c2 if c1 != 0, c3 == c1 * c2
x * c2 - tdiv(x - y, c1) * c3 => (tmod(x - y, c1) + y) * c2 if c1 != 0, c3 == c1 * c2
tdiv(x - y, c1) * c3 - x * c2 => (0 - tmod(x - y, c1) - y) * c2 if c1 != 0, c3 == c1 * c2
tdiv(x + c1, c3) - tdiv(x + c2, c3) => tdiv(tmod(x + c2 % c3, c3) + (c1 - c2), c3) if c1 >= c2, c3 > 0, x >= -c2, x + c2 % c3 >= 0
tdiv(x + c1, c3) - tdiv(x, c3) => tdiv(tmod(x, c3) + c1, c3) if c1 >= 0, c3 > 0, x >= 0
x - x // c1 * c1 => x % c1 if c1 != 0
x // c1 * c1 - x => 0 - x % c1 if c1 != 0
x - (x + y) // c1 * c1 => (x + y) % c1 - y if c1 != 0
(x + y) // c1 * c1 - x => y - (x + y) % c1 if c1 != 0
x - (x - y) // c1 * c1 => (x - y) % c1 + y if c1 != 0
(x - y) // c1 * c1 - x => 0 - (x - y) % c1 - y if c1 != 0
(x + c1) // 2 - (x + c2) // 2 ~> x % 2 * (c1 % 2 - c2 % 2) + (c1 // 2 - c2 // 2)
x // 2 - (x + c2) // 2 ~> x % 2 * (0 - c2 % 2) - c2 // 2
(x + c1) // 2 - x // 2 ~> x % 2 * (c1 % 2) + c1 // 2
x * c2 - x // c1 * c3 => x % c1 * c2 if c1 != 0, c3 == c1 * c2
x // c1 * c3 - x * c2 => 0 - x % c1 * c2 if c1 != 0, c3 == c1 * c2
x * c2 - (x + y) // c1 * c3 => ((x + y) % c1 - y) * c2 if c1 != 0, c3 == c1 * c2
(x + y) // c1 * c3 - x * c2 => (y - (x + y) % c1) * c2 if c1 != 0, c3 == c1 * c2
x * c2 - (x - y) // c1 * c3 => ((x - y) % c1 + y) * c2 if c1 != 0, c3 == c1 * c2
(x - y) // c1 * c3 - x * c2 => (0 - (x - y) % c1 - y) * c2 if c1 != 0, c3 == c1 * c2
(x + 1) // 2 - x % 2 ~> x // 2
(x + c1) // c3 - (x + c2) // c3 => ((x + c2 % c3) % c3 + (c1 - c2)) // c3 if c3 > 0
(x + c1) // c3 - x // c3 => (x % c3 + c1) // c3 if c3 > 0
# Subtracted constants are added, and go last.
x - c1 => x + (0 - c1)
(x + c1) - y ~> (x - y) + c1
x - (y + c1) ~> (x - y) + (0 - c1)
x - (y - z) ~> (x + z) - y
x - y * c1 ~> x + y * (0 - c1)
)"},
    {"tdiv vector", R"(
tdiv(bcast(x, n), bcast(y, n)) => bcast(tdiv(x, y), n)
)"},
    {"tmod vector", R"(
tmod(bcast(x, n), bcast(y, n)) => bcast(tmod(x, y), n)
)"},
    {"floordiv vector", R"(
bcast(x, n) // bcast(y, n) => bcast(x // y, n)
)"},
    {"floormod vector", R"(
bcast(x, n) % bcast(y, n) => bcast(x % y, n)
)"},
    {"tdiv", R"(
tdiv(tdiv(x, c1), c2) => tdiv(x, c1 * c2) if c1 > 0, c2 > 0
tdiv(tdiv(x, c1) + c2, c3) => tdiv(x + c1 * c2, c1 * c3) if c1 > 0, c2 >= 0, c3 > 0, x >= 0
tdiv(x * c1, c2) => x * tdiv(c1, c2) if c1 > 0, c2 > 0, c1 % c2 == 0
tdiv(x * c1, c2) => tdiv(x, tdiv(c2, c1)) if c1 > 0, c2 > 0, c2 % c1 == 0
tdiv(x, x) => 1
tdiv(x * c1, x) or tdiv(c1 * x, x) => c1
tdiv(x * c1 + y, c2) => x * tdiv(c1, c2) + tdiv(y, c2) if c1 >= 0, c2 > 0, c1 % c2 == 0, x >= 0, y >= 0
tdiv(mn(x * c1, y), c2) => mn(x * tdiv(c1, c2), tdiv(y, c2)) if c1 >= 0, c2 > 0, c1 % c2 == 0, x >= 0, y >= 0
tdiv(y + x * c1, c2) => tdiv(y, c2) + x * tdiv(c1, c2) if c1 >= 0, c2 > 0, c1 % c2 == 0, x >= 0, y >= 0
tdiv(mn(y, x * c1), c2) => mn(tdiv(y, c2), x * tdiv(c1, c2)) if c1 >= 0, c2 > 0, c1 % c2 == 0, x >= 0, y >= 0
tdiv(x * c1 + y + z, c2) => x * tdiv(c1, c2) + tdiv(y + z, c2) if c1 >= 0, c2 > 0, c1 % c2 == 0, x >= 0, y + z >= 0
tdiv(x * c1 - y + z, c2) => x * tdiv(c1, c2) + tdiv(z - y, c2) if c1 >= 0, c2 > 0, c1 % c2 == 0, x >= 0, z - y >= 0
tdiv(x * c1 + y - z, c2) => x * tdiv(c1, c2) + tdiv(y - z, c2) if c1 >= 0, c2 > 0, c1 % c2 == 0, x >= 0, y - z >= 0
tdiv(y + x * c1 + z, c2) => x * tdiv(c1, c2) + tdiv(y + z, c2) if c1 > 0, c2 > 0, c1 % c2 == 0, x >= 0, y + z >= 0
tdiv(x + c1, c2) => tdiv(x, c2) + tdiv(c1, c2) if c1 > 0, c2 > 0, c1 % c2 == 0, x >= 0
tdiv(x + y, x) or tdiv(y + x, x) => tdiv(y, x) + 1 if x >= 0, y >= 0
tdiv(x + y + z, x) or tdiv(y + x + z, x) or tdiv(y + (z + x), x) or tdiv(y + (x + z), x) => tdiv(y + z, x) + 1 \
    if x >= 0, y + z >= 0
tdiv(x * y, y) or tdiv(y * x, y) => x if x >= 0, y >= 0
tdiv(x * z + y, z) or tdiv(z * x + y, z) => x + tdiv(y, z) if x >= 0, y >= 0, z >= 0
tdiv(y + x * z, z) or tdiv(y + z * x, z) => tdiv(y, z) + x if x >= 0, y >= 0, z >= 0
)"},
    {"tmod", R"(
tmod(x * c1, c2) => 0 if c2 != 0, c1 % c2 == 0
tmod(x * c1 + y, c2) => tmod(y, c2) if c2 > 0, c1 % c2 == 0, x * c1 >= 0, y >= 0
tmod(x + c1, c2) => tmod(x, c2) if c2 > 0, c1 >= 0, c1 % c2 == 0, x >= 0
tmod(x + y * c1, c2) => tmod(x, c2) if c2 > 0, c1 % c2 == 0, x >= 0, y * c1 >= 0
tmod(x, c1) ~> tmod(x, 0 - c1) if c1 < 0
)"},
    {"floordiv first", R"(
x // c1 // c2 => x // (c1 * c2) if c1 > 0, c2 > 0
(x // c1 + c2) // c3 => (x + c1 * c2) // (c1 * c3) if c1 > 0, c3 > 0
)"},
    {"floordiv", R"(
x // x => 1
x * c1 // x or c1 * x // x => c1
(x % 2 + 1) // 2 => x % 2
mn(x * c1, y) // c2 => mn(x * (c1 // c2), y // c2) if c2 > 0, c1 % c2 == 0
mn(y, x * c1) // c2 => mn(y // c2, x * (c1 // c2)) if c2 > 0, c1 % c2 == 0
(x * c1 + y + z) // c2 => x * (c1 // c2) + (y + z) // c2 if c2 > 0, c1 % c2 == 0
(x * c1 + y + z) // c2 => x // (c2 // c1) if c1 > 0, c2 > 0, c2 % c1 == 0, (y + z) // c1 == 0
(x * c1 - y + z) // c2 or (x * c1 + z - y) // c2 => x * (c1 // c2) + (z - y) // c2 if c2 > 0, c1 % c2 == 0
(y + x * c1 + z) // c2 => x * (c1 // c2) + (y + z) // c2 if c2 > 0, c1 % c2 == 0
(x + c1) // c2 => x // c2 + c1 // c2 if c2 > 0, c1 % c2 == 0
x * c1 // (x * c2) => c1 // c2 if c2 > 0
(x + y) // x or (y + x) // x => y // x + 1 if x >= 0
(x + y + z) // x or (y + x + z) // x or (y + (z + x)) // x or (y + (x + z)) // x => (y + z) // x + 1 if x >= 0
x * y // y or y * x // y => x if y >= 0
(x * z + y) // z or (z * x + y) // z => x + y // z if z >= 0
(y + x * z) // z or (y + z * x) // z => y // z + x if z >= 0
(x * z * c1 + y) // (z * c1) => x + y // (z * c1) if z * c1 >= 0
(x - x % c1) // c1 => x // c1 if c1 != 0
)"},
    {"floormod", R"(
x * c1 % c2 => x * (c1 % c2) % c2 if c2 > 0
(x * c1 + y) % c2 => x % (c2 // c1) * c1 + y if c1 > 0, c2 > 0, c2 % c1 == 0, y // c1 == 0
(x * c1 + y) % c2 => (x * (c1 % c2) + y) % c2 if c2 > 0
(x + c1) % c2 => (x + c1 % c2) % c2 if c2 > 0, c1 >= c2
(x + c1) % c2 => (x + c1 % c2) % c2 if c2 > 0, c1 < 0
(x + y * c1) % c2 => (x + y * (c1 % c2)) % c2 if c2 > 0
x * c1 % (x * c2) => x * (c1 % c2) if c2 != 0
x * y % y or y * x % y => 0
(x + z % y) % y or (z % y + x) % y => 0 if (x + z) % y == 0
(x - x % z) % y or (x % z - x) % y => 0 if y - z == 0
(x - x % z) % y or (x % z - x) % y => 0 if y + z == 0
(x * z * c1 + y) % (z * c1) => y % (z * c1) if z * c1 >= 0
)"},
    {"min max vector", R"(
mn(bcast(x, n), bcast(y, n)) => bcast(mn(x, y), n)
mn(mn(x, bcast(y, n)), bcast(z, n)) => mn(x, bcast(mn(y, z), n))
)"},
    {"min max first", R"(
mn(x, x) => x
)"},
    {"min max", R"(
min(x + c1, x + c2) => x + c1 if c1 < c2
max(x + c1, x + c2) => x + c1 if c1 > c2
min(x + c1, x + c2) => x + c2 if c1 >= c2
max(x + c1, x + c2) => x + c2 if c1 <= c2
min(x + c1, x) or min(x, x + c1) => x + c1 if c1 < 0
max(x + c1, x) or max(x, x + c1) => x + c1 if c1 > 0
min(x + c1, x) or min(x, x + c1) => x if c1 >= 0
max(x + c1, x) or max(x, x + c1) => x if c1 <= 0
min(c1 - x, c2 - x) => c1 - x if c1 < c2
max(c1 - x, c2 - x) => c1 - x if c1 > c2
min(c1 - x, c2 - x) => c2 - x if c1 >= c2
max(c1 - x, c2 - x) => c2 - x if c1 <= c2
# x rounded up, and down.
min(tdiv(x + c1, c2) * c2, x) or min(x, tdiv(x + c1, c2) * c2) or min((x + c1) // c2 * c2, x) \
    or min(x, (x + c1) // c2 * c2) => x if c2 > 0, c1 + 1 == c2
min(tdiv(x + c1, c2) * c2, max(x, c2)) or min(max(x, c2), tdiv(x + c1, c2) * c2) \
    or min((x + c1) // c2 * c2, max(x, c2)) or min(max(x, c2), (x + c1) // c2 * c2) => max(x, c2) \
    if c2 > 0, c1 + 1 == c2, x >= 1
min(x, x // c2 * c2) or min(x // c2 * c2, x) => x // c2 * c2 if c2 > 0
max(tdiv(x + c1, c2) * c2, x) or max(x, tdiv(x + c1, c2) * c2) => tdiv(x + c1, c2) * c2 if c2 > 0, c1 + 1 == c2
max((x + c1) // c2 * c2, x) or max(x, (x + c1) // c2 * c2) => (x + c1) // c2 * c2 if c2 > 0, c1 + 1 == c2
max(x // c2 * c2, x) or max(x, x // c2 * c2) => x if c2 > 0
# One of the operands again, further in.
mn(mx(x, y), mn(x, y)) or mn(mx(x, y), mn(y, x)) or mn(mn(x, y), mx(x, y)) or mn(mn(x, y), mx(y, x)) \
    or mn(mn(x, y), x) or mn(mn(x, y), y) or mn(x, mn(x, y)) or mn(y, mn(x, y)) => mn(x, y)
mn(mx(x, y), x) or mn(mx(y, x), x) or mn(x, mx(x, y)) or mn(x, mx(y, x)) => x
mn(mn(mn(x, y), z), y) => mn(mn(x, y), z)
mn(mn(mn(mn(x, y), z), s), y) => mn(mn(mn(x, y), z), s)
mn(mn(mn(mn(mn(x, y), z), s), t), y) => mn(mn(mn(mn(x, y), z), s), t)
mn(mx(x, y), mx(x, z)) or mn(mx(x, y), mx(z, x)) or mn(mx(y, x), mx(x, z)) or mn(mx(y, x), mx(z, x)) \
    => mx(mn(y, z), x)
mn(mn(x, y), mn(x, z)) or mn(mn(x, y), mn(z, x)) or mn(mn(y, x), mn(x, z)) or mn(mn(y, x), mn(z, x)) \
    => mn(mn(y, z), x)
# What both have stands outside.
mn(y + x, z + x) or mn(y + x, x + z) or mn(x + y, x + z) or mn(x + y, z + x) => mn(y, z) + x
mn(y - x, z - x) => mn(y, z) - x
mn(x - y, x - z) => x - mx(y, z)
mn(mn(x, c1), c2) => mn(x, mn(c1, c2))
mn(tdiv(x, c1), tdiv(y, c1)) => tdiv(mn(x, y), c1) if c1 > 0
mn(tdiv(x, c1), tdiv(y, c1)) => tdiv(mx(x, y), c1) if c1 < 0
mn(x // c1, y // c1) => mn(x, y) // c1 if c1 > 0
mn(x // c1, y // c1) => mx(x, y) // c1 if c1 < 0
mn(x * c1, y * c1) => mn(x, y) * c1 if c1 > 0
mn(x * c1, y * c1) => mx(x, y) * c1 if c1 < 0
mn(x * c1, c2) => mn(x, c2 // c1) * c1 if c1 > 0, c2 % c1 == 0
mn(x * c1, c2) => mx(x, c2 // c1) * c1 if c1 < 0, c2 % c1 == 0
mn(mn(x, c1), y) ~> mn(mn(x, y), c1)
mn(c1 - x, c2) ~> c1 - mx(x, c1 - c2) if c2 != 0
)"},
    {"min max any", R"(
mn(select(x, y, z), select(x, s, t)) => select(x, mn(y, s), mn(z, t))
)"},
    {"select any", R"(
select(x, y, y) => y
)"},
    {"eq vector", R"(
bcast(x, n) == bcast(y, n) => bcast(x == y, n)
)"},
    {"eq", R"(
c1 == x => x == c1
x - c1 == c2 => x == c2 + c1
c1 - x == c2 => x == c1 - c2
x + c1 == c2 => x == c2 - c1
x * y == 0 ~> x == 0 || y == 0
)"},
    {"lt vector", R"(
bcast(x, n) < bcast(y, n) => bcast(x < y, n)
ramp(x, s, n) < ramp(y, s, n) => bcast(x < y, n)
)"},
    {"lt", R"(
x + y < x + z or x + y < z + x or y + x < x + z or y + x < z + x or y - x < z - x => y < z
x - y < x - z => z < y
x < x + z or x < z + x => 0 < z
x < x - z => z < 0
x * c1 < y * c1 => x < y if c1 > 0
x * c1 < y * c1 => y < x if c1 < 0
# Factors and divisors go to the constant.
x * c2 < c1 => x < tdiv(c1 - 1, c2) + 1 if c1 > 0, c2 > 0
x * c2 < c1 => x < tdiv(c1, c2) if c1 <= 0, c2 > 0
x * c2 < c1 => tdiv(c1 - 1, c2) - 1 < x if c1 > 0, c2 < 0
x * c2 < c1 => tdiv(c1, c2) < x if c1 <= 0, c2 < 0
c1 < x * c2 => tdiv(c1 + 1, c2) - 1 < x if c1 < 0, c2 > 0
c1 < x * c2 => tdiv(c1, c2) < x if c1 >= 0, c2 > 0
c1 < x * c2 => x < tdiv(c1 + 1, c2) + 1 if c1 < 0, c2 < 0
c1 < x * c2 => x < tdiv(c1, c2) if c1 >= 0, c2 < 0
tdiv(x, c1) < c2 => x < c1 * c2 if c1 > 0, c2 > 0
tdiv(x, c1) < c2 => x < c1 * (c2 - 1) + 1 if c1 > 0, c2 <= 0
c1 < tdiv(x, c2) => (c1 + 1) * c2 - 1 < x if c1 >= 0, c2 > 0
c1 < tdiv(x, c2) => c1 * c2 < x if c1 < 0, c2 > 0
# x // c * c is x without its remainder.
tdiv(x, c1) * c1 < x => 0 < tmod(x, c1) if c1 > 0
tdiv(x, c1) * c1 < x + y => 0 < tmod(x, c1) + y if c1 > 0
tdiv(x, c1) * c1 < x - y => y < tmod(x, c1) if c1 > 0
tdiv(x + c2, c1) * c1 < x => c2 < tmod(x + c2, c1) if c1 > 0
tdiv(x + c2, c1) * c1 < x + y => c2 < tmod(x + c2, c1) + y if c1 > 0
tdiv(x + c2, c1) * c1 < x - y => y < tmod(x + c2, c1) + (0 - c2) if c1 > 0
x // c1 < c2 => x < c1 * c2 if c1 > 0
c1 < x // c2 => (c1 + 1) * c2 - 1 < x if c2 > 0
x // c1 * c1 < x => 0 < x % c1 if c1 > 0
x // c1 * c1 < x + y => 0 < x % c1 + y if c1 > 0
x // c1 * c1 < x - y => y < x % c1 if c1 > 0
(x + c2) // c1 * c1 < x => c2 < (x + c2) % c1 if c1 > 0
(x + c2) // c1 * c1 < x + y => c2 < (x + c2) % c1 + y if c1 > 0
(x + c2) // c1 * c1 < x - y => y < (x + c2) % c1 + (0 - c2) if c1 > 0
# A min or max is two conditions; constants join.
min(x, y) < z ~> x < z || y < z
max(x, y) < z ~> x < z && y < z
z < min(x, y) ~> z < x && z < y
z < max(x, y) ~> z < x || z < y
c1 < x + c2 or c1 - x < c2 ~> c1 - c2 < x
c1 < c2 - x or x + c1 < c2 ~> x < c2 - c1
c1 < x - c2 ~> c1 + c2 < x
x - c2 < c1 ~> x < c1 + c2
x < c1 - y ~> x + y < c1
c1 - y < x ~> c1 < x + y
x < c1 + y ~> x - y < c1
c1 + y < x ~> c1 < x - y
)"},
    {"not vector", R"(
!bcast(x, n) => bcast(!x, n)
)"},
    {"not", R"(
!(!x) => x
!(x == y) => x != y
!(x != y) => x == y
!(x || y) ~> !x && !y
!(x && y) ~> !x || !y
)"},
    {"not order", R"(
!(x <= y) => y < x
!(x >= y) => x < y
!(x < y) => y <= x
!(x > y) => x <= y
)"},
    {"and vector", R"(
bcast(x, n) && bcast(y, n) => bcast(x && y, n)
)"},
    {"and", R"(
x == y && x != y or x != y && x == y => false
x && !x => false
x <= y && y < x or y < x && x <= y => false
x < c1 && c2 < x or c2 < x && x < c1 => false if c2 + 1 >= c1
x < c1 && c2 <= x or c2 <= x && x < c1 or x <= c1 && c2 < x or c2 < x && x <= c1 => false if c2 >= c1
x <= c1 && c2 <= x or c2 <= x && x <= c1 => false if c2 > c1
x == c1 && x == c2 => x == c1 && c1 == c2
x == c1 && x != c2 or x != c2 && x == c1 => x == c1 && c1 != c2
# A quotient and a remainder make one number.
x // c2 == c1 && x % c2 == c3 or x % c2 == c3 && x // c2 == c1 ~> x == c1 * c2 + c3 if c3 >= 0, c3 < c2
0 <= x - y * c1 && x - y * c1 < c1 or x - y * c1 < c1 && 0 <= x - y * c1 ~> y == x // c1 if c1 > 0
c1 < x - y * c1 && x - y * c1 <= 0 ~> y == x // c1 if c1 < 0
0 <= x + y * c2 && x + y * c2 < c1 or x + y * c2 < c1 && 0 <= x + y * c2 ~> y == x // c1 if c2 == -c1, c1 > 0
x < c1 && x % c2 < c3 ~> x < c1 - c2 + c3 && x % c2 < c3 if c2 > 0, c3 < c2, c1 % c2 == 0
x < c1 && x % c2 < c3 ~> x < c1 - c1 % c2 + c3 && x % c2 < c3 if c2 > 0, c1 % c2 > c3
x <= c1 && x % c2 < c3 ~> x < c1 + 1 - c2 + c3 && x % c2 < c3 if c2 > 0, c3 < c2, (c1 + 1) % c2 == 0
x // c2 == c1 && x % c2 < c3 or x % c2 < c3 && x // c2 == c1 ~> c1 * c2 <= x && x < c1 * c2 + c3 if c2 > 0, c3 <= c2
x // c2 == c1 && x % c2 <= c3 or x % c2 <= c3 && x // c2 == c1 ~> c1 * c2 <= x && x <= c1 * c2 + c3 \
    if c2 > 0, c3 < c2
x // c2 == c1 && c3 <= x % c2 or c3 <= x % c2 && x // c2 == c1 ~> c1 * c2 + c3 <= x && x < (c1 + 1) * c2 \
    if c2 > 0, c3 >= 0
x // c2 == c1 && c3 < x % c2 or c3 < x % c2 && x // c2 == c1 ~> c1 * c2 + c3 < x && x < (c1 + 1) * c2 \
    if c2 > 0, c3 >= -1
x && (y && z) ~> (x && y) && z
)"},
    {"or vector", R"(
bcast(x, n) || bcast(y, n) => bcast(x || y, n)
)"},
    {"or", R"(
x == y || x != y or x != y || x == y => true
x || !x => true
x <= y || y < x or y < x || x <= y => true
x < y || y < x => x != y
x < c1 || c2 < x or c2 < x || x < c1 => true if c2 < c1
x <= c1 || c2 < x or c2 < x || x <= c1 or x < c1 || c2 <= x or c2 <= x || x < c1 => true if c2 <= c1
x <= c1 || c2 <= x or c2 <= x || x <= c1 => true if c2 <= c1 + 1
x != c1 || x != c2 => x != c1 || c1 != c2
x != c1 || x == c2 or x == c2 || x != c1 => x != c1 || c1 == c2
x < y || x == y or x < y || y == x or x == y || x < y or y == x || x < y ~> x <= y
x || (y || z) ~> (x || y) || z
)"},
};

RuleSet ReadSet(std::string_view text) {
  RuleSet set;
  std::string rule;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    if (!line.starts_with('#')) rule += line;
    if (goes_on || rule.empty()) continue;
    for (Rule& read : ParseRules(rule)) set.push_back(std::move(read));
    rule.clear();
  }
  return set;
}

using NamedSets = std::vector<std::pair<std::string_view, RuleSet>>;

NamedSets ReadAll() {
  NamedSets sets;
  for (const RuleText& text : kRuleTexts) sets.emplace_back(text.set, ReadSet(text.rules));
  return sets;
}

const NamedSets& AllSets() {
  static const NamedSets& sets = *new NamedSets(ReadAll());  // Never destroyed.
  return sets;
}

}  // namespace

const RuleSet* FindRules(std::string_view name) {
  for (const auto& [set, rules] : AllSets())
    if (set == name) return &rules;
  return nullptr;
}

std::vector<std::string_view> RuleSetNames() {
  std::vector<std::string_view> names;
  for (const auto& [set, rules] : AllSets()) names.push_back(set);
  return names;
}

}  // namespace lathe
