"""InjectSoftwarePipeline: what TVM 0.27 makes of the same programs."""
import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.script import tir as T


class TestTwoStages(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectSoftwarePipeline()

    def before(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            for i in T.serial(0, 16, annotations={"software_pipeline_stage": [0, 1],
                                                  "software_pipeline_order": [0, 1], "keep": 3}):
                with T.block("compute"):
                    T.reads(A[tx, i])
                    T.writes(C[tx, i])
                    B = T.alloc_buffer((16, 1), dtype="float32", scope="shared")
                    with T.block("a"):
                        T.reads(A[tx, i])
                        T.writes(B[tx, 0])
                        B[tx, 0] = A[tx, i] * T.float32(2)
                    with T.block("b"):
                        T.reads(B[tx, 0])
                        T.writes(C[tx, i])
                        C[tx, i] = B[tx, 0] + T.float32(1)

    def expected(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            with T.block(""):
                T.reads(A[tx, 0:16])
                T.writes(C[tx, 0:16])
                B = T.alloc_buffer((2, 16, 1), scope="shared")
                with T.block("a"):
                    T.reads(A[tx, 0])
                    T.writes(B[T.FloorMod(0, 2), tx, 0])
                    B[T.FloorMod(0, 2), tx, 0] = A[tx, 0] * T.float32(2)
                with T.block(""):
                    T.reads(A[tx, 1:16], B[0:2, tx, 0])
                    T.writes(B[0:2, tx, 0], C[tx, 0:15])
                    for i in T.serial(15, annotations={"keep": 3}):
                        with T.block("a"):
                            T.where(i + 1 < 16)
                            T.reads(A[tx, i + 1])
                            T.writes(B[(i + 1) % 2, tx, 0])
                            B[(i + 1) % 2, tx, 0] = A[tx, i + 1] * T.float32(2)
                        with T.block("b"):
                            T.where(i + 1 - 1 < 16)
                            T.reads(B[(i - 1 + 1) % 2, tx, 0])
                            T.writes(C[tx, i - 1 + 1])
                            C[tx, i - 1 + 1] = B[(i - 1 + 1) % 2, tx, 0] + T.float32(1)
                with T.block("b"):
                    T.reads(B[T.FloorMod(15, 2), tx, 0])
                    T.writes(C[tx, 15])
                    C[tx, 15] = B[T.FloorMod(15, 2), tx, 0] + T.float32(1)


class TestStagesInAnotherOrder(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectSoftwarePipeline()

    def before(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
        for i in T.serial(2, 16, annotations={"software_pipeline_stage": [0, 1, 2],
                                              "software_pipeline_order": [0, 2, 1]}):
            with T.block("compute"):
                T.reads(A[i])
                T.writes(D[i])
                B = T.alloc_buffer((1,), dtype="float32", scope="shared")
                C = T.alloc_buffer((1,), dtype="float32", scope="shared")
                B[0] = A[i] * T.float32(2)
                C[0] = B[0] + T.float32(1)
                D[i] = C[0] + T.float32(1)

    def expected(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
        with T.block("root"):
            with T.block(""):
                T.reads(A[2:16])
                T.writes(D[2:16])
                B = T.alloc_buffer((2, 1), scope="shared")
                C = T.alloc_buffer((1,), scope="shared")
                with T.block(""):
                    T.reads(A[2:4], B[0:2, 0])
                    T.writes(B[0:2, 0], C[0])
                    for i in T.unroll(2, 4):
                        with T.block(""):
                            T.where(i < 16)
                            T.reads(A[i])
                            T.writes(B[0:2, 0])
                            B[(i - 2) % 2, 0] = A[i] * T.float32(2)
                        with T.block(""):
                            T.where(i == 3 and i - 1 < 16)
                            T.reads(B[0:2, 0])
                            T.writes(C[0])
                            C[0] = B[(i - 1 - 2) % 2, 0] + T.float32(1)
                with T.block(""):
                    T.reads(A[4:16], C[0], B[0:2, 0])
                    T.writes(B[0:2, 0], D[2:14], C[0])
                    for i in range(2, 14):
                        with T.block(""):
                            T.where(i + 2 < 16)
                            T.reads(A[i + 2])
                            T.writes(B[0:2, 0])
                            B[(i + 2 - 2) % 2, 0] = A[i + 2] * T.float32(2)
                        with T.block(""):
                            T.where(i + 2 - 2 < 16)
                            T.reads(C[0])
                            T.writes(D[i - 2 + 2])
                            D[i - 2 + 2] = C[0] + T.float32(1)
                        with T.block(""):
                            T.where(i + 2 - 1 < 16)
                            T.reads(B[0:2, 0])
                            T.writes(C[0])
                            C[0] = B[(i - 1 + 2 - 2) % 2, 0] + T.float32(1)
                with T.block(""):
                    T.reads(C[0], B[0:2, 0])
                    T.writes(D[14:16], C[0])
                    for i in T.unroll(2, 4):
                        with T.block(""):
                            T.where(i + 14 - 2 < 16)
                            T.reads(C[0])
                            T.writes(D[i - 2 + 14])
                            D[i - 2 + 14] = C[0] + T.float32(1)
                        with T.block(""):
                            T.where(i + 14 - 1 < 16)
                            T.reads(B[0:2, 0])
                            T.writes(C[0])
                            C[0] = B[(i - 1 + 14 - 2) % 2, 0] + T.float32(1)


class TestOneStageIsTheLoopAlone(tvm.testing.CompareBeforeAfter):
    transform = tir.transform.InjectSoftwarePipeline()

    def before(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        for i in T.serial(0, 16, annotations={"software_pipeline_stage": [0, 0],
                                              "software_pipeline_order": [0, 1]}):
            with T.block("compute"):
                T.reads(A[i])
                T.writes(C[i])
                B = T.alloc_buffer((1,), dtype="float32", scope="shared")
                B[0] = A[i]
                C[i] = B[0]

    def expected(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        with T.block("root"):
            T.reads()
            T.writes()
            with T.block(""):
                T.reads(A[0:16])
                T.writes(C[0:16])
                B = T.alloc_buffer((1,), scope="shared")
                with T.block(""):
                    T.reads()
                    T.writes()
                    T.evaluate(0)
                with T.block(""):
                    T.reads(A[0:16], B[0])
                    T.writes(B[0], C[0:16])
                    for i in range(16):
                        with T.block(""):
                            T.where(i < 16)
                            T.reads(A[i])
                            T.writes(B[0])
                            B[0] = A[i]
                        with T.block(""):
                            T.where(i < 16)
                            T.reads(B[0])
                            T.writes(C[i])
                            C[i] = B[0]
                with T.block(""):
                    T.reads()
                    T.writes()
                    T.evaluate(0)


def pipelined(stages, orders, num_turns=16, more=None):
    """Three statements, each of which reads what the one before wrote."""
    annotations = {"software_pipeline_stage": stages, "software_pipeline_order": orders, **(more or {})}

    @T.prim_func
    def func(A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
        for i in T.serial(0, num_turns, annotations=annotations):
            with T.block("compute"):
                T.reads(A[i])
                T.writes(D[i])
                B = T.alloc_buffer((1,), dtype="float32")
                C = T.alloc_buffer((1,), dtype="float32")
                B[0] = A[i] * T.float32(2)
                C[0] = B[0] + T.float32(1)
                D[i] = C[0] * T.float32(3)

    return tvm.IRModule.from_expr(func.with_attr("global_symbol", "main"))


@pytest.mark.parametrize("stages, orders, num_turns",
                         [([0, 1, 2], [0, 1, 2], 16), ([0, 1, 2], [2, 1, 0], 16), ([0, 1, 3], [0, 2, 1], 16),
                          ([0, 0, 1], [0, 1, 2], 7), ([0, 0, 1], [1, 2, 0], 7), ([0, 1, 3], [0, 1, 2], 2)])
def test_pipelines_compute_the_same(stages, orders, num_turns):
    numpy = pytest.importorskip("numpy")
    after = tir.transform.InjectSoftwarePipeline()(pipelined(stages, orders, num_turns))
    run = tvm.build(after, target="llvm")
    data, result = numpy.arange(16, dtype="float32"), tvm.nd.array(numpy.zeros(16, "float32"))
    run(tvm.nd.array(data), result)
    expected = (data * 2 + 1) * 3
    expected[num_turns:] = 0
    tvm.testing.assert_allclose(result.numpy(), expected)


@pytest.mark.parametrize("stages, orders, more, message",
                         [([0, 0, 1], [0, 0, 1], None, "cannot have the same order"),
                          ([0, 0, 1], [1, 0, 2], None, "cannot be reordered"),
                          ([1, 0, 1], [0, 1, 2], None, "in the later stage"),
                          ([0, 1], [0, 1], None, "has 3 statements"),
                          ([0, 0, 1], [0, 1, 2], {"software_pipeline_async_stages": [0]}, "asynchronous stages")])
def test_pipelines_that_are_wrong_are_value_errors(stages, orders, more, message):
    with pytest.raises(ValueError, match=message) as error:
        tir.transform.InjectSoftwarePipeline()(pipelined(stages, orders, more=more))
    assert isinstance(error.value, tvm.TVMError)


def test_a_pipeline_needs_stage_and_order():
    @T.prim_func
    def func(A: T.Buffer((16,), "float32")):
        for i in T.serial(0, 16, annotations={"software_pipeline_stage": [0, 1]}):
            A[i] = T.float32(1)
            A[i] = T.float32(2)

    with pytest.raises(ValueError, match="Order of the software pipeline is not defined"):
        tir.transform.InjectSoftwarePipeline()(tvm.IRModule.from_expr(func))


if __name__ == "__main__":
    tvm.testing.main()
