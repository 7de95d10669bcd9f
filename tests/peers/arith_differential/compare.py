#!/usr/bin/env python3
"""What Analyzer's three simplifications give here and in TVM 0.27, by family: how many have one form, and those that differ.

    cmake --build --preset dev --target lathe_python
    PYTHONPATH=build/dev/python tests/peers/arith_differential/compare.py --tvm ~/tvm/bin/python [FAMILY|all]
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SIMPLIFICATIONS = ("rewrite_simplify", "canonical_simplify", "simplify")


def results_of(python, side):
    return json.loads(subprocess.run([python, str(HERE / "side.py"), side], check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tvm", required=True)
    parser.add_argument("shown", nargs="?", help="the family whose differences are printed; all: every one")
    arguments = parser.parse_args()
    theirs, ours = results_of(arguments.tvm, "tvm"), results_of(sys.executable, "lathe")
    same, total = collections.Counter(), collections.Counter()
    for key, row in theirs.items():
        family = key.split("/")[0]
        if "input" not in row:
            continue
        total[family] += 1
        for name in SIMPLIFICATIONS:
            if ours[key].get(name) == row[name] and ours[key].get("input") == row["input"]:
                same[family, name] += 1
            elif arguments.shown in ("all", family):
                print(f"{row['text']}  {row['bounds']} {row['conditions']}\n  {name}: tvm {row[name]}, ours {ours[key].get(name)}")
    for family in [*total, None]:
        families = [family] if family else list(total)
        counts = ", ".join(f"{name} {sum(same[f, name] for f in families)}" for name in SIMPLIFICATIONS)
        print(f"{family or 'all'}: {counts} of {sum(total[f] for f in families)}")


main()
