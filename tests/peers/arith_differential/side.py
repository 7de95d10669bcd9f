#!/usr/bin/env python3
"""What one of the two makes of the expressions of cases.py: side.py tvm|lathe. Prints one JSON object."""
import contextlib
import importlib.util
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SIMPLIFICATIONS = ("rewrite_simplify", "canonical_simplify", "simplify")
INFIX = {"Add": "+", "Sub": "-", "Mul": "*", "FloorDiv": "//", "FloorMod": "%", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=",
         "EQ": "==", "NE": "!=", "And": "&&", "Or": "||"}
BITS = {"LShift": "shift_left", "RShift": "shift_right", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or",
        "BitwiseXor": "bitwise_xor", "BitwiseNot": "bitwise_not"}


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def dtype_of(e):
    return str(e.dtype) if hasattr(e, "dtype") else str(e.ty)


def text_of(e):
    """The same for the same tree, in both."""
    kind = type(e).__name__
    if isinstance(e, (int, float)):
        return str(e)
    if kind == "IntImm":
        return str(bool(e.value)) if dtype_of(e) == "bool" else f"{int(e.value)}:{dtype_of(e)}"
    if kind == "FloatImm":
        return f"{e.value}:{dtype_of(e)}"
    if kind in ("Var", "SizeVar"):
        return e.name
    if kind == "Cast":
        return f"Cast({dtype_of(e)},{text_of(e.value)})"
    if kind in ("Ramp", "Broadcast"):
        parts = [e.base, e.stride] if kind == "Ramp" else [e.value]
        return f"{kind}({','.join(map(text_of, parts))}):{dtype_of(e)}"
    if kind == "Not":
        return f"!({text_of(e.a)})"
    if kind == "Call":
        return f"{e.op.name.split('.')[-1]}:{dtype_of(e)}({','.join(map(text_of, e.args))})"
    if kind in BITS:
        parts = [e.a, e.b] if hasattr(e, "b") else [e.a]
        return f"{BITS[kind]}:{dtype_of(e)}({','.join(map(text_of, parts))})"
    if kind in INFIX:
        return f"({text_of(e.a)}{INFIX[kind]}{text_of(e.b)})"
    fields = {"Select": ("condition", "true_value", "false_value"), "Let": ("var", "value", "body")}.get(kind, ("a", "b"))
    return f"{kind}({','.join(text_of(getattr(e, field)) for field in fields)})"


def names(tir):
    int32 = {name: tir.Var(name, "int32") for name in "xyzv"}
    others = {"b": "bool", "f": "float32", "g": "float32", "u": "uint32", "u8": "uint8", "h": "int8", "X": "int64", "Y": "int64"}
    return {**int32, **{name: tir.Var(name, dtype) for name, dtype in others.items()}, "tir": tir, "fld": tir.floordiv,
            "flm": tir.floormod, "tdiv": tir.truncdiv, "tmod": tir.truncmod, "tmin": tir.min, "tmax": tir.max, "ite": tir.if_then_else,
            "ramp": tir.Ramp, "VS": tir.vscale(),
            "broadcast": lambda value, lanes: tir.Broadcast(tir.IntImm("int32", value) if isinstance(value, int) else value, lanes)}


def simplified(tvm, known, row, simplification):
    bounds, conditions, text = row
    analyzer = tvm.arith.Analyzer()
    for name, (low, high) in bounds.items():
        analyzer.bind(known[name], tvm.ir.Range(low, high + 1))
    with contextlib.ExitStack() as scopes:
        for condition in conditions:
            scopes.enter_context(analyzer.constraint_scope(eval(condition, known)))
        return text_of(getattr(analyzer, simplification)(eval(text, known)))


def main():
    door = load("door", HERE.parent / "tvm_differential" / "side.py")
    (door.install_tvm if sys.argv[1] == "tvm" else door.install_lathe)()
    import tvm
    from tvm import tir
    known, results = names(tir), {}
    for family, rows in load("cases", HERE / "cases.py").FAM.items():
        for number, row in enumerate(rows):
            result = results[f"{family}/{number}"] = {"text": row[2], "bounds": str(row[0]), "conditions": list(row[1])}
            for key in ("input", *SIMPLIFICATIONS):
                try:
                    e = eval(row[2], known)
                    if isinstance(e, (int, float)):
                        break
                    result[key] = text_of(e) if key == "input" else simplified(tvm, known, row, key)
                except Exception as error:  # noqa: an answer, too
                    result[key] = f"{type(error).__name__}: {str(error)[:200]}"
    print(json.dumps(results))


main()
