#!/usr/bin/env python3
"""Runs the cases of one file in one of the two: side.py tvm|lathe FILE. Prints one JSON line per case."""
import importlib.util
import json
import operator
import os
import re
import sys
import tempfile
import types


def in_todays_names(text):
    """What TVM 0.27 reads from the text itself rather than from the objects that names stand for."""
    for old, new in ((r"@T\.prim_func\n", "@T.prim_func(s_tir=True)\n"), (r"@T\.prim_func\((?!s_tir)", "@T.prim_func(s_tir=True, "),
                     (r"\bT\.block\(", "T.sblock("), (r"\bT\.alloc_buffer\(", "T.sblock_alloc_buffer("),
                     (r"\bT\.block_attr\(", "T.sblock_attr(")):
        text = re.sub(old, new, text)
    return re.sub(r"^(\s+\w+): (T\.\w+) = ", r"\1: T.let[\2] = ", text, flags=re.MULTILINE)


def install_tvm():
    """TVM 0.27 under the names of v0.18."""
    import tvm
    from tvm import s_tir, tirx
    from tvm.s_tir import transform as s_transform
    from tvm.script import tirx as script

    tir = types.ModuleType("tvm.tir")
    for module in (tirx, s_tir):
        for name in dir(module):
            if not name.startswith("__"):
                setattr(tir, name, getattr(module, name))
    tir.Block, tir.BlockRealize = s_tir.SBlock, s_tir.SBlockRealize
    tir.transform = types.ModuleType("tvm.tir.transform")
    for module in (s_transform, tirx.transform):
        for name in dir(module):
            if not name.startswith("__"):
                setattr(tir.transform, name, getattr(module, name))
    for schedule in (s_tir.Schedule,):
        for name in [n for n in dir(schedule) if "sblock" in n]:
            setattr(schedule, name.replace("sblock", "block"), getattr(schedule, name))
    tvm.tir, tvm.script.tir = tir, script
    sys.modules.update({"tvm.tir": tir, "tvm.tir.transform": tir.transform, "tvm.script.tir": script,
                        "tvm.tir.schedule": s_tir.schedule})
    tir.analysis = tirx_module("analysis", s_tir.analysis)
    tir.analysis.get_block_access_region = s_tir.analysis.get_sblock_access_region
    tir.analysis.get_block_read_write_region = s_tir.analysis.get_sblock_read_write_region
    tir.stmt_functor = tirx_module("functor", tirx.functor) if hasattr(tirx, "functor") else tirx_module("none")
    for name in ("post_order_visit", "ir_transform", "substitute", "renew_defs"):
        found = find_name(name)
        if found is not None:
            setattr(tir.stmt_functor, name, found)
    tir.transform.Simplify = tir.transform.StmtSimplify
    tir.transform.CommonSubexprElimTIR = tir.transform.CommonSubexprElim
    tvm.transform, tvm.te = tvm.ir.transform, tvm.te if hasattr(tvm, "te") else types.ModuleType("tvm.te")
    tvm.nd = types.ModuleType("tvm.nd")
    tvm.nd.array, tvm.nd.empty = tvm.runtime.tensor, tvm.runtime.empty
    for name in ("tir.analysis", "tir.stmt_functor", "transform", "te", "nd"):
        sys.modules["tvm." + name] = operator.attrgetter(name)(tvm)
    if not hasattr(tvm, "arith"):
        tvm.arith = tvm.sym
        sys.modules["tvm.arith"] = tvm.sym


def tirx_module(name, *others):
    """A module with the public names of tvm.tirx.NAME and of others."""
    import tvm
    module = types.ModuleType("tvm.tir." + name)
    for source in (getattr(tvm.tirx, name, None), *others):
        for key in dir(source):
            if not key.startswith("__"):
                setattr(module, key, getattr(source, key))
    return module


def find_name(name):
    """What moved between modules since v0.18, wherever it is today."""
    import tvm
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("tvm") and callable(getattr(module, name, None)):
            return getattr(module, name)
    return None


def install_lathe():
    import lathe.compat
    lathe.compat.install_as("tvm")


def text_of(value):
    if isinstance(value, (list, tuple)):
        return [text_of(item) for item in value]
    if hasattr(value, "script") and callable(value.script):
        return {"script": value.script()}
    return repr(value) if isinstance(value, float) else str(value)


def error_class(error):
    names = [base.__name__ for base in type(error).__mro__]
    for known in ("ScheduleError", "DiagnosticError", "ParseError", "InternalError", "TVMError", "ValueError", "TypeError"):
        if known in names:
            return known
    return names[0]


def main():
    side, path = sys.argv[1:]
    {"tvm": install_tvm, "lathe": install_lathe}[side]()
    if side == "tvm":
        with open(path) as file, tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as translated:
            translated.write(in_todays_names(file.read()))
        path = translated.name
    try:
        spec = importlib.util.spec_from_file_location("case", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["case"] = module
        spec.loader.exec_module(module)
    except BaseException as error:  # noqa: the whole file fails
        print(json.dumps({"case": "(file)", "error": error_class(error), "message": str(error)[:2000]}))
        return
    for name in [n for n in dir(module) if n.startswith("case_")]:
        in_a_process_of_its_own(name, getattr(module, name))


def in_a_process_of_its_own(name, case):
    """TVM may crash: that too is an answer."""
    child = os.fork()
    if child == 0:
        print(json.dumps(answer(name, case)), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        print(json.dumps({"case": name, "error": "crash", "message": ""}), flush=True)


def answer(name, case):
    try:
        return {"case": name, "result": text_of(case())}
    except BaseException as error:  # noqa: an answer like any other
        return {"case": name, "error": error_class(error), "message": str(error)[:2000]}


if __name__ == "__main__":
    main()
