"""What Analyzer.simplify gives here and in TVM, for random index expressions: prints those whose form differs.

Run by hand, with a Python that has TVM:  python tests/peers/arith_differential.py BUILD_DIR [COUNT [SEED]]
Ours is what the simplify pass makes of a function of T.evaluate lines, run through the golden test.
"""
import os
import random
import subprocess
import sys

import tvm
from tvm import tirx as tir
from tvm.script import tirx as T

try:
    from tvm import arith
except ImportError:
    from tvm import sym as arith

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOOPS = {"i": 7, "j": 16, "k": 4}
FREE = ["n", "m"]


def make(rng, depth):
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(list(LOOPS) + FREE) if rng.random() < 0.8 else str(rng.randint(1, 9))
    kind = rng.randrange(10)
    a = make(rng, depth - 1)
    if kind < 3:
        return f"({a} + {make(rng, depth - 1)})"
    if kind == 3:
        return f"({a} - {make(rng, depth - 1)})"
    constant = rng.choice([2, 3, 4, 8, 16])
    if kind < 6:
        return f"({a} * {constant})"
    if kind < 8:
        return f"({a} // {constant})"
    if kind == 8:
        return f"({a} % {constant})"
    return f"T.{rng.choice(['min', 'max'])}({a}, {make(rng, depth - 1)})"


def condition(rng, depth):
    a, b = make(rng, depth), make(rng, rng.randrange(depth))
    return f"{a} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {b}"


def ours(build_dir, texts):
    name = os.path.join(ROOT, "tests/golden/transform/zz_differential.py")
    header = "# pass: simplify\nfrom tvm.script import tir as T\n\n@T.prim_func\n"
    signature = "def main(n: T.int32, m: T.int32):\n"
    nest = "    for i, j, k in T.grid(7, 16, 4):\n"
    body = "".join(f"        T.evaluate({text})\n" for text in texts)
    with open(name, "w") as f:
        f.write(header + signature + nest + body + "# expected:\n")
    try:
        subprocess.run([os.path.join(build_dir, "tests/compiler_transform_test"), "--gtest_filter=*zz_differential*"],
                       env={**os.environ, "LATHE_UPDATE_GOLDEN": "1"}, stdout=subprocess.DEVNULL, check=True)
        with open(name) as f:
            lines = f.read().split("# expected:\n")[1].splitlines()
    finally:
        os.unlink(name)
    return [line.strip()[len("T.evaluate("):-1] for line in lines if "T.evaluate" in line]


def equal(a, b):
    try:
        tvm.ir.assert_structural_equal(a, b)
        return True
    except ValueError:
        return False


def main():
    build_dir = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 500
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng = random.Random(seed)
    texts = [condition(rng, 2) if rng.random() < 0.4 else make(rng, 3) for _ in range(count)]
    names = {name: tir.Var(name, "int32") for name in list(LOOPS) + FREE}
    analyzer = arith.Analyzer()
    for name, extent in LOOPS.items():
        analyzer.bind(names[name], tvm.ir.Range(0, extent))
    scope = {"T": T, **names}
    kept = [(text, eval(text, scope)) for text in texts]
    kept = [(text, e) for text, e in kept if not isinstance(e, (int, bool))]
    results = ours(build_dir, [text for text, _ in kept])
    assert len(results) == len(kept), f"seed {seed}: {len(results)} results of {len(kept)}"
    same = 0
    for (text, e), mine in zip(kept, results):
        theirs = analyzer.simplify(e)
        parsed = eval(mine, scope)
        if isinstance(parsed, (int, bool)):
            parsed = tir.IntImm("bool" if isinstance(parsed, bool) else "int32", int(parsed))
        if equal(parsed, theirs):
            same += 1
        else:
            print(f"{text}\n    ours {mine}\n    tvm  {theirs}")
    print(f"seed {seed}: {same} of {len(kept)} have one form")


main()
