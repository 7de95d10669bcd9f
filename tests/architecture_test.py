#!/usr/bin/env python3
"""Every #include "..." in the tree points where the table of docs/ARCHITECTURE.md allows it."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPEN_TO_ALL = {"runtime/kernel_abi.h"}


def read_table(text):
    """Folder -> folders that it may include, from the rows of the table."""
    rows = re.findall(r"^\| ([a-z_/]+) \| ([a-z_/, –]+) \|$", text, re.M)
    return {folder: set() if allowed == "–" else set(allowed.split(", ")) for folder, allowed in rows}


def folder_of(path, table):
    """The longest folder of the table that `path` lies in."""
    inside = [folder for folder in table if path.startswith(folder + "/")]
    return max(inside, key=len, default=None)


def problems(table, files):
    for path, text in files:
        here = folder_of(path, table)
        if here is None:
            yield f"{path}: its folder is not in the table of docs/ARCHITECTURE.md"
            continue
        for line, target in re.findall(r'^(#include "([a-z_]+/[^"]+)")', text, re.M):
            there = folder_of(target, table)
            if target in OPEN_TO_ALL or there in (None, here):
                continue
            if not any(there == allowed or there.startswith(allowed + "/") for allowed in table[here]):
                yield f"{path}: {line}: {here} may not include {there}"


def sources():
    for folder in ("include", "support", "runtime", "runner", "compiler", "tracker", "rpc", "tuner", "cli", "client", "python", "deploy"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield str(path.relative_to(ROOT)), path.read_text()


def main():
    table = read_table((ROOT / "docs/ARCHITECTURE.md").read_text())
    assert len(table) > 10, "the table of docs/ARCHITECTURE.md was not found"
    # The test can fail: a board's code that reaches for the tuner is found.
    assert list(problems(table, [("runtime/x.cc", '#include "tuner/database/store.h"\n')])), "a wrong include goes unnoticed"
    found = list(problems(table, sources()))
    print("\n".join(found) or f"ok: {len(table)} folders")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
