"""Which calls of primitives TVM accepts and refuses, and with what class."""
import pytest
import tvm
from tvm import te, tir, topi
from tvm.script import tir as T


@T.prim_func
def two_blocks(A: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    B = T.alloc_buffer((128, 128), "float32")
    for i, j in T.grid(128, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(128, 128):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


@pytest.fixture
def sch():
    return tir.Schedule(two_blocks, debug_mask="all")


def kinds(sch, block):
    return [int(sch.get(loop).kind) for loop in sch.get_loops(block)]


def test_a_stale_handle_is_a_value_error(sch):
    block, (i, j) = sch.get_block("B"), sch.get_loops("B")
    sch.fuse(i, j)
    with pytest.raises(ValueError):
        sch.get(i)
    with pytest.raises(ValueError):
        sch.split(i, [None, 2])
    sch.compute_inline(block)
    with pytest.raises(ValueError):
        sch.get(block)


def test_a_removed_handle_is_an_index_error(sch):
    block, (i, _), number = sch.get_block("B"), sch.get_loops("B"), sch.sample_categorical([1, 2], [0.5, 0.5])
    for handle in (block, i, number):
        sch.remove_rv(handle)
        with pytest.raises(IndexError):
            sch.get(handle)
        with pytest.raises(IndexError):
            sch.remove_rv(handle)
    with pytest.raises(IndexError):
        sch.get_loops(block)
    with pytest.raises(IndexError):
        sch.split(sch.get_loops("B")[1], [None, number])


def test_arguments_of_another_type_are_type_errors(sch):
    block, (i, _) = sch.get_block("B"), sch.get_loops("B")
    for call in (lambda: sch.bind(i, 3), lambda: sch.reorder(block, i), lambda: sch.split(i, [1.5, None])):
        with pytest.raises(TypeError):
            call()


def test_an_unknown_buffer_is_an_assertion_error_and_an_unknown_function_a_value_error(sch):
    with pytest.raises(AssertionError):
        sch.cache_read("C", "X", "global")
    with pytest.raises(ValueError):
        sch.work_on("nowhere")


def test_indices_of_annotated_accesses_and_types_that_there_are_not_are_value_errors(sch):
    with pytest.raises(ValueError, match="index 7"):
        sch.annotate_buffer_access("B", 7, "read", lambda i, j: ((i, i + 1), (j, j + 1)))
    with pytest.raises(ValueError, match="nodtype"):
        sch.unsafe_set_dtype("B", 0, "nodtype")


def test_marks_are_given_up_by_split_and_fuse_and_replaced_by_other_marks(sch):
    i, j = sch.get_loops("B")
    sch.parallel(i)
    sch.split(i, [None, 4])
    assert kinds(sch, "B") == [0, 0, 0]
    i, j = sch.get_loops("C")
    sch.vectorize(j)
    fused = sch.fuse(i, j)
    assert kinds(sch, "C") == [0]
    sch.bind(fused, "threadIdx.x")
    sch.bind(fused, "threadIdx.y")
    assert sch.get(fused).thread_binding.thread_tag == "threadIdx.y"
    sch.unroll(fused)
    assert kinds(sch, "C") == [3]


def test_the_first_annotation_of_a_key_stays_and_booleans_stay_booleans(sch):
    block, (i, _) = sch.get_block("B"), sch.get_loops("B")
    sch.annotate(i, "key", "first")
    sch.annotate(i, "key", "second")
    sch.annotate(block, "flag", True)
    assert sch.get(i).annotations["key"] == "first"
    assert sch.get(block).annotations["flag"].dtype == "bool"
    again = tir.Schedule(two_blocks)
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)


def test_a_loop_has_child_blocks_and_no_loop_is_reordered(sch):
    i, _ = sch.get_loops("B")
    assert [sch.get(block).name_hint for block in sch.get_child_blocks(i)] == ["B"]
    sch.reorder()
    tvm.ir.assert_structural_equal(sch.mod["main"], two_blocks)


def test_an_unknown_storage_scope_is_refused_and_tags_are_taken(sch):
    for call in (lambda: sch.cache_read("C", 0, "nowhere"), lambda: sch.cache_write("C", 0, "nowhere"),
                 lambda: sch.set_scope("B", 0, "nowhere")):
        with pytest.raises(tir.ScheduleError):
            call()
    sch.set_scope("B", 0, "global.vtcm")


def test_pad_value_is_of_the_buffers_kind(sch):
    with pytest.raises(tvm.TVMError):
        sch.transform_layout("B", ("write", 0), lambda i, j: [i // 3, j, i % 3], pad_value=0)


def test_cache_write_copies_back_behind_the_consumers_that_use_the_cache(sch):
    sch.cache_write("B", 0, "local", consumer_blocks=["C"])
    body = sch.mod["main"].body.block.body
    assert [loop.body.body.block.name_hint for loop in body.seq] == ["B", "C", "B_local"]


def test_loops_of_one_iteration_that_were_asked_for_stay_in_the_bindings(sch):
    sch.compute_at("B", sch.get_loops("C")[1], preserve_unit_loops=True)
    assert [str(value) for value in sch.mod["main"].body.block.body.body.body.seq[0].body.body.iter_values] == \
        ["i + ax0", "j + ax1"]


def test_transform_block_layout_keeps_the_regions_that_a_block_declares():
    @T.prim_func
    def opaque(A: T.Buffer((128, 128), "float32")):
        for i, j in T.grid(128, 128):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads()
                T.writes(A[vi, vj])
                T.evaluate(T.call_extern("int32", "f", A.data, vi, vj))

    sch = tir.Schedule(opaque)
    sch.transform_block_layout("A", lambda i, j: [j, i])
    assert len(sch.get(sch.get_block("A")).writes) == 1


def test_annotate_buffer_access_says_a_region_and_lists_the_buffer(sch):
    block = sch.get_block("B")
    sch.annotate_buffer_access(block, 0, "read", lambda vi, vj: ((vi - 1, vi + 1), vj))
    node = sch.get(block)
    assert [str(dim.extent) for dim in node.reads[0].region] == ["2", "1"]
    assert list(node.annotations["explicit_read_region"]) == [0]
    with pytest.raises(tvm.TVMError):
        sch.annotate_buffer_access(block, 3, "read", lambda vi, vj: (vi, vj))
    again = tir.Schedule(two_blocks)
    tvm.tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    tvm.ir.assert_structural_equal(again.mod, sch.mod)
    (line,) = [line.strip() for line in str(sch.trace).splitlines() if "annotate_buffer_access" in line]
    assert line.endswith("gen_new_ranges=lambda vi, vj: [(vi - 1, vi + 1), (vj, vj + 1)])")
    by_text = tir.Schedule(two_blocks)
    exec(line, {"sch": by_text, "b0": by_text.get_block("B")})
    tvm.ir.assert_structural_equal(by_text.mod, sch.mod)


def test_too_few_of_something_is_a_value_error_and_a_missing_annotation_an_index_error(sch):
    i, _ = sch.get_loops("B")
    too_few = (lambda: sch.fuse(), lambda: sch.merge(i), lambda: sch.sample_perfect_tile(i, n=0),
               lambda: sch.sample_categorical([1, 2], [1.0]), lambda: sch.get_block("B", func_name="other"))
    for call in too_few:
        with pytest.raises(ValueError):
            call()
    with pytest.raises(IndexError):
        sch.unannotate(sch.get_block("B"), "missing")


def test_a_region_that_is_not_there_is_an_assertion_error(sch):
    for buffer in (("write", 4), ("nothing", 0)):
        with pytest.raises(AssertionError):
            sch.transform_layout("B", buffer, lambda *i: list(i))


def test_words_that_a_schedule_does_not_know_are_value_errors(sch):
    for options in ({"debug_mask": "nothing"}, {"error_render_level": "loud"}):
        with pytest.raises(ValueError):
            tir.Schedule(sch.mod, **options)


def test_a_block_of_several_functions_needs_one_to_work_on():
    both = tvm.IRModule({"one": two_blocks, "two": two_blocks})
    with pytest.raises(ValueError):
        tir.Schedule(both).get_block("B")


@pytest.mark.parametrize("seed", [-1, 0, 2**31])
def test_a_seed_lies_in_the_range_of_tvm(seed):
    with pytest.raises(ValueError, match=r"in the range \[1, 2147483647\]"):
        tir.Schedule(two_blocks, seed=seed)
    assert tir.Schedule(two_blocks, seed=2**31 - 1).mod is not None


def test_handles_indices_and_numbers_of_the_wrong_kind(sch):
    stale = sch.get_loops("B")[0]
    sch.split(stale, [None, 4])
    with pytest.raises(ValueError):
        sch.get_sref(stale)
    with pytest.raises(TypeError):
        sch.cache_read("B", None, "local")
    with pytest.raises(TypeError):
        sch.split(sch.get_loops("B")[0], None)
    for buffer in (("read", -1), ("read", 5)):
        with pytest.raises(AssertionError, match="read regions"):
            sch.reindex("B", buffer)
    with pytest.raises(ValueError):
        sch.seed(-2)
    with pytest.raises(ValueError, match="is not registered"):
        sch.tensorize(sch.get_loops("B")[0], "nothing")
    with pytest.raises(ValueError, match="not an index below 2"):
        sch.sample_categorical([1, 2], [0.5, 0.5], decision=7)


@pytest.mark.parametrize("json", [{"a": 1}, [1, 2], [[["Foo", [], [], []]], []]])
def test_json_that_is_no_trace_is_a_value_error(sch, json):
    with pytest.raises(ValueError):
        tir.schedule.Trace.apply_json_to_schedule(json, sch)


@pytest.mark.parametrize("flag", [True, {"a": [True]}], ids=["flag", "nested"])
def test_flags_of_annotations_come_back_from_a_trace(flag):
    @T.prim_func
    def add(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                A[vi] = A[vi] + T.float32(1)

    sch, again = tir.Schedule(add), tir.Schedule(add)
    sch.annotate(sch.get_loops("B")[0], "key", flag)
    tir.schedule.Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    tvm.ir.assert_structural_equal(sch.mod, again.mod)


def fractions():
    x, f, i = te.placeholder((4, 4), name="x"), tir.Var("f", "float32"), tir.Var("i", "int32")
    steps = {i: tvm.ir.Range(0, 4)}
    return {
        "reshape": lambda: topi.reshape(x, (2.0, 8)),
        "index": lambda: te.compute((4,), lambda i: x[i * 0.5, 0]),
        "full": lambda: topi.full((2.5,), "float32", 1),
        "iter sum": lambda: tvm.arith.normalize_to_iter_sum(f, steps),
        "equation": lambda: tvm.arith.solve_linear_equations([f == 2.0], [f], {}),
    }


@pytest.mark.parametrize("act", fractions().values(), ids=fractions().keys())
def test_fractions_are_no_indices(act):
    with pytest.raises((tvm.TVMError, ValueError), match="integer|float32"):
        act()


def test_maps_of_fractions_are_none():
    i = tir.Var("i", "int32")
    half = tir.const(1.5, "float32")
    assert tvm.arith.iter_map_simplify([half], {i: tvm.ir.Range(0, 4)})[0].value == 1.5
    assert len(tvm.arith.subspace_divide([half], {i: tvm.ir.Range(0, 4)}, [i])) == 0
