"""Writes database_workload.json and database_tuning_record.json as the installed TVM (0.27) does.

Run by hand in TVM's environment, with a new folder under /tmp:  python make_records.py /tmp/records
Nothing is built or measured: traces come from TVM's own space generator and from calls of primitives, seconds are made up. What it wrote is committed
as tests/fixtures/tvm_0_27; what it wrote into /tmp/records/forms, of forms that few databases hold, as tests/fixtures/tvm_0_27_forms.
"""

import pathlib
import sys

import tvm
from tvm.s_tir import Schedule, meta_schedule as ms
from tvm.script import ir as I, tirx as T


@I.ir_module
class Matmul:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 48), "float32"), B: T.Buffer((48, 32), "float32"), C: T.Buffer((64, 32), "float32")):
        T.func_attr({"tirx.noalias": True})
        D = T.sblock_alloc_buffer((64, 32), "float32")
        for i, j, k in T.grid(64, 32, 48):
            with T.sblock("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    D[vi, vj] = T.float32(0)
                D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(64, 32):
            with T.sblock("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(D[vi, vj], T.float32(0))


@I.ir_module
class Padded:
    @T.prim_func(s_tir=True)
    def main(X: T.Buffer((1, 4, 14, 14), "float16"), Y: T.Buffer((1, 4, 16, 16), "float32")):
        T.func_attr({"tirx.noalias": True, "number": 3, "text": "a b"})
        for n, c, h, w in T.grid(1, 4, 16, 16):
            with T.sblock("pad"):
                vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
                T.sblock_attr({"schedule_rule": "None"})
                Y[vn, vc, vh, vw] = T.if_then_else(
                    T.And(1 <= vh and vh < 15, T.Not(vw < 1 or vw >= 15)),
                    T.Cast("float32", X[vn, vc, vh - 1, vw - 1]), T.float32(-0.5))


@I.ir_module
class Softmax:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8, 64), "float32"), C: T.Buffer((8, 64), "float32")):
        M = T.sblock_alloc_buffer((8,), "float32")
        E = T.sblock_alloc_buffer((8, 64), "float32")
        for i, k in T.grid(8, 64):
            with T.sblock("max"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.min_value("float32")
                M[vi] = T.max(M[vi], A[vi, vk])
        for i, j_0, j_1 in T.grid(8, 5, 13):
            with T.sblock("exp"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(64, j_0 * 13 + j_1)
                T.where(j_0 * 13 + j_1 < 64)
                E[vi, vj] = T.exp(A[vi, vj] - M[vi])
        for i in T.parallel(8):
            for j in T.serial(64, annotations={"pragma_auto_unroll_max_step": 16}):
                with T.sblock("select"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = T.Select(vj % 2 == 0, E[vi, vj // 2 * 2], E[vi, T.min(vj + 1, 63)])


@I.ir_module
class Symbolic:
    @T.prim_func(s_tir=True)
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 8), "int32")
        B = T.match_buffer(b, (n, 8), "int32")
        for i, j in T.grid(n, T.int64(8)):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2 + T.Cast("int32", vi)


@I.ir_module
class Half:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((32, 64), "float16"), B: T.Buffer((64, 32), "float16"), C: T.Buffer((32, 32), "float16")):
        for i, j, k in T.grid(32, 32, 64):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float16(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@I.ir_module
class NotFinite:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = T.Select(vi < 2, T.float32("-inf"), T.Select(vi < 4, T.float32("inf"), T.Select(vi < 5, T.float32("nan"), A[vi])))


@I.ir_module
class Argmax:
    @T.prim_func(s_tir=True)
    def main(X: T.Buffer((4, 8), "int32"), V0: T.Buffer((4,), "int32"), V1: T.Buffer((4,), "int32")):
        for i, k in T.grid(4, 8):
            with T.sblock("R"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    V0[vi] = -1
                    V1[vi] = T.min_value("int32")
                v0: T.let[T.int32] = T.Select(V1[vi] > X[vi, vk] or V1[vi] == X[vi, vk] and V0[vi] > vk, V0[vi], vk)
                v1: T.let[T.int32] = T.Select(V1[vi] > X[vi, vk], V1[vi], X[vi, vk])
                V0[vi] = v0
                V1[vi] = v1


@I.ir_module
class Annotated:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for i in T.serial(8, annotations={"nested": {"list": [1, 2], "map": {"text": "\u00e9"}}}):
            with T.sblock("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = (A[vi] ^ 5) + (A[vi] << 1)


MODULES = {"matmul": Matmul, "padded": Padded, "softmax": Softmax, "symbolic": Symbolic}


def by_hand(schedule):
    block = schedule.get_sblock("matmul")
    i, j, k = schedule.get_loops(block)
    step = schedule.sample_categorical([1, 2, 4], [1 / 3, 1 / 3, 1 / 3])
    schedule.cache_read(block, 0, "local")
    schedule.cache_write(block, 0, "local")
    schedule.annotate(block, "text", 'a"b\\c\n\t\x01\u00e9')
    schedule.annotate(k, "step", step)
    schedule.split(i, [None, 4])
    schedule.vectorize(j)
    return schedule.trace


def sampled_map(schedule):
    """As MultiLevelTilingTensorCore: a layout that follows the tiles that were drawn; nodes of the map are shared."""
    block = schedule.get_sblock("C")
    i, j, _ = schedule.get_loops(block)
    t = schedule.sample_perfect_tile(i, 3, 16, decision=[2, 2, 8])
    u = schedule.sample_perfect_tile(j, 3, 16, decision=[4, 1, 8])
    copy = schedule.cache_write(block, 0, "shared")

    def layout(a, b):
        row, column = a // 8, b // 8
        return row // t[1], column // u[1], row % t[1], column % u[1], a % 8, b % 8

    schedule.transform_layout(block, ("write", 0), layout, assume_injective_transform=True)
    schedule.parallel(schedule.get_loops(copy)[0])
    return schedule.trace


def rewritten_layout(schedule):
    """As RewriteLayout: a map with its inverse; then one that pads."""
    block = schedule.get_sblock("C")
    tiled = tvm.tirx.IndexMap.from_func(
        lambda i, j: (i // 16, j // 4, i % 16, j % 4),
        inverse_index_map=lambda a, b, c, d: (a * 16 + c, b * 4 + d))
    schedule.transform_layout(block, ("read", 1), tiled)
    schedule.transform_block_layout(block, lambda i, j, k: (j, i, k))
    schedule.transform_layout(block, ("write", 0), lambda i, j: (i, j // 5, j % 5), pad_value=T.float16(0.5))
    return schedule.trace


def factored(schedule):
    block = schedule.get_sblock("R")
    outer, _ = schedule.split(schedule.get_loops(block)[1], [None, 2])
    schedule.rfactor(outer, 0)
    return schedule.trace


def annotated(schedule):
    schedule.annotate(schedule.get_loops(schedule.get_sblock("B"))[0], "note", {"text": "a", "number": 1})
    return schedule.trace


def untouched(schedule):
    return schedule.trace


FORMS = [(Half, sampled_map), (Half, rewritten_layout), (NotFinite, untouched), (Argmax, factored), (Annotated, annotated)]


def write_forms(folder):
    folder.mkdir()
    database = ms.database.JSONDatabase(work_dir=str(folder))
    for module, schedule in FORMS:
        workload = database.commit_workload(module)
        database.commit_tuning_record(ms.database.TuningRecord(schedule(Schedule(module)), workload, [1e-4], None, None))


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    target = tvm.target.Target({"kind": "llvm", "num-cores": 4, "mcpu": "skylake-avx512"})
    database = ms.database.JSONDatabase(work_dir=str(folder))
    for name, module in MODULES.items():
        workload = database.commit_workload(module)
        arguments = ms.arg_info.ArgInfo.from_prim_func(module["main"]) if name != "symbolic" else None
        traces = [Schedule(module).trace]
        if name == "matmul":
            space = ms.space_generator.PostOrderApply()
            context = ms.TuneContext(mod=module, target=target, space_generator=space, rand_state=7)
            space = context.space_generator
            traces = [s.trace for s in space.generate_design_space(module)] + [by_hand(Schedule(module))]
        for number, trace in enumerate(traces):
            seconds = [1e-4 / (number + 1), 1.0, 3]
            database.commit_tuning_record(ms.database.TuningRecord(trace, workload, seconds, target, arguments))
        database.commit_tuning_record(ms.database.TuningRecord(traces[-1], workload, None, None, None))
    write_forms(folder / "forms")


if __name__ == "__main__":
    main(sys.argv[1])
