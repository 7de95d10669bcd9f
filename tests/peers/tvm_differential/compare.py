#!/usr/bin/env python3
"""Runs programs for TVM v0.18 in Lathe and in TVM and says where they differ (README.md)."""
import argparse
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PROLOGUE = """import numpy as np
import tvm
from tvm import tir
from tvm.script import ir as I
from tvm.script import tir as T

"""


def run(python, side, path, environment):
    process = subprocess.run([python, str(HERE / "side.py"), side, str(path)], capture_output=True, text=True,
                             timeout=300, env={**os.environ, **environment})
    rows = [json.loads(line) for line in process.stdout.splitlines() if line.startswith('{"case"')]
    if not rows:
        rows = [{"case": "(file)", "error": "crash", "message": process.stderr[-2000:]}]
    return {row["case"]: row for row in rows}


def same(ours, theirs):
    if "error" in ours or "error" in theirs:
        return "error" in ours and "error" in theirs
    return same_result(ours["result"], theirs["result"])


def same_result(ours, theirs):
    if isinstance(ours, list) and isinstance(theirs, list):
        return isinstance(theirs, list) and len(ours) == len(theirs) and all(map(same_result, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return same_script(ours["script"], theirs["script"])
    return in_names_of_018(str(ours)) == in_names_of_018(str(theirs))


def same_script(ours, theirs):
    import lathe
    try:
        a, b = (lathe.script.from_source(in_names_of_018(text)) for text in (ours, theirs))
        return bool(lathe.ir.structural_equal(a, b))
    except Exception as error:  # noqa: what we cannot read is a difference
        print(f"    cannot be compared: {str(error)[:400]}")
        return False


def in_names_of_018(text):
    """Of 0.27's texts: traces and attributes; the symbol of a function that a schedule calls "main" is not compared."""
    text = re.sub(r'(T\.func_attr\(\{)?"global_symbol": "\w+"(, |\}\))', lambda m: m[1] if m[1] and m[2] == ", " else "", text)
    for new, old in (("tirx.noalias", "tir.noalias"), ("get_sblock", "get_block"), ("import s_tir", "import tir"),
                     ("s_tir.Schedule", "tir.Schedule"), ("SBlock", "Block")):
        text = text.replace(new, old)
    return text


def show(row):
    if "error" in row:
        return f"{row['error']}: {row['message'][:600]}"
    return json.dumps(row["result"], indent=1).replace("\\n", "\n")[:4000]


def difference(ours, theirs):
    """What both say; of two scripts, the lines in which they differ."""
    if "error" in ours or "error" in theirs or not isinstance(ours["result"], dict) or not isinstance(theirs["result"], dict):
        return f"lathe: {show(ours)}\ntvm:   {show(theirs)}"
    import lathe
    try:
        texts = [str(lathe.script.from_source(in_names_of_018(row["result"]["script"])).script()).splitlines() for row in (ours, theirs)]
    except Exception:  # noqa: what we cannot read is shown as it is
        return f"lathe: {show(ours)}\ntvm:   {show(theirs)}"
    return "\n".join(difflib.unified_diff(*texts, "lathe", "tvm", lineterm="", n=2))


def docstring_cases(python, folder):
    """One file per documented primitive: its functions, then its calls as a case. Kept in `folder` alone."""
    code = ("import inspect, json, tvm.s_tir as s; S = s.Schedule;"
            "print(json.dumps({n: inspect.getdoc(getattr(S, n)) or '' for n in dir(S) if not n.startswith('_')}))")
    docs = json.loads(subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout)
    for name, doc in docs.items():
        blocks = code_blocks(doc)
        calls = [block for block in blocks if "Schedule(" in block]
        if not calls:
            continue
        before = blocks[:blocks.index(calls[0])]
        text = "\n\n".join(before).replace("tvm.s_tir.", "tvm.tir.").replace("T.sblock_alloc_buffer", "T.alloc_buffer")
        text = text.replace("T.sblock", "T.block").replace("(s_tir=True)", "")
        call = calls[0].replace("tvm.s_tir.", "tvm.tir.").replace("get_sblock", "get_block").replace("sblock", "block")
        call = "\n".join(line for line in call.splitlines() if "print(" not in line)
        path = folder / f"{name}.py"
        path.write_text(PROLOGUE + text + "\n\n\ndef case_" + name + "():\n" + textwrap.indent(call, "    ") +
                        "\n    return sch.mod\n")
        yield path


def golden_cases(folder, names):
    """One file per golden of the schedule primitives: its functions, and its calls as a case."""
    for golden in sorted((ROOT / "tests/golden/schedule").glob("*.py")):
        if names and not any(golden.stem.startswith(name) for name in names):
            continue
        head, body = golden.read_text().split("# before and expected:\n")
        calls = [line for line in head.splitlines() if not line.startswith("#")]
        path = folder / golden.name
        path.write_text(PROLOGUE + body + f"\n\ndef case_{golden.stem}():\n    sch = tir.Schedule(before)\n" +
                        textwrap.indent("\n".join(calls), "    ") + "\n    return sch.mod\n")
        yield path


def code_blocks(doc):
    blocks, current = [], None
    for line in doc.splitlines():
        if ".. code-block:: python" in line:
            current = []
        elif current is not None:
            if line.strip() and not line.startswith("    "):
                blocks.append(textwrap.dedent("\n".join(current)).strip())
                current = None
            else:
                current.append(line)
    if current:
        blocks.append(textwrap.dedent("\n".join(current)).strip())
    return [block for block in blocks if block]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--tvm", required=True, help="the python of a virtual environment with TVM 0.27")
    parser.add_argument("--lathe", default=str(ROOT / "build/dev/python"), help="folder that holds the package lathe")
    parser.add_argument("--docstrings", action="store_true", help="also the examples in TVM's documentation")
    parser.add_argument("--goldens", nargs="*", metavar="PREFIX", help="also tests/golden/schedule, or those so named")
    parser.add_argument("--quiet", action="store_true", help="names only")
    options = parser.parse_args()
    sys.path.insert(0, options.lathe)
    total = differences = 0
    with tempfile.TemporaryDirectory() as folder:
        files = list(options.files)
        if options.docstrings:
            files += docstring_cases(options.tvm, pathlib.Path(folder))
        if options.goldens is not None:
            files += golden_cases(pathlib.Path(folder), options.goldens)
        for path in files:
            theirs = run(options.tvm, "tvm", path, {})
            ours = run("/usr/bin/python3", "lathe", path, {"PYTHONPATH": options.lathe})
            for case in sorted(theirs.keys() | ours.keys()):
                missing = {"case": case, "error": "missing", "message": "not run"}
                a, b = ours.get(case, missing), theirs.get(case, missing)
                total += 1
                if case != "(file)" and same(a, b):
                    continue
                differences += 1
                print(f"DIFFERENT {path.name} {case}")
                if not options.quiet:
                    print(textwrap.indent(difference(a, b), "    "))
    print(f"{total - differences} same, {differences} different")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
