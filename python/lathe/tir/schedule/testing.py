"""Helpers for tests of schedules."""
from lathe.ir.base import assert_structural_equal
from lathe.ir.module import IRModule
from lathe.tir.function import PrimFunc


def assert_structural_equal_ignore_global_symbol(s1, s2):
    """As assert_structural_equal, whatever the functions are called."""
    assert_structural_equal(_unnamed(s1), _unnamed(s2))


def _unnamed(program):
    if isinstance(program, PrimFunc):
        return program.without_attr("global_symbol")
    return IRModule({var: func.with_attr("global_symbol", "main") for var, func in program.functions_items()})


def verify_trace_roundtrip(sch, mod, *, debug_mask="all", text_format=("python", "json")):
    """Replays the trace of `sch` on `mod` through each text form, asserts that the same module comes out, and returns
    the last schedule."""
    from lathe.tir.schedule import Schedule, Trace
    formats = (text_format,) if isinstance(text_format, str) else text_format
    for each in formats:
        new_sch = Schedule(mod, debug_mask=debug_mask)
        if each == "json":
            Trace.apply_json_to_schedule(sch.trace.as_json(), new_sch)
        elif each == "python":
            exec("\n".join(sch.trace.as_python()), {}, {"sch": new_sch})
        else:
            raise ValueError(f"text_format: \"{each}\" is neither \"json\" nor \"python\"")
        assert_structural_equal(new_sch.mod, sch.mod)
    return new_sch
