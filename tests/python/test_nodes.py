"""Nodes built and taken apart in Python."""
import copy
import pickle

import numpy as np
import pytest
import tvm
import tvm.testing
from programs import elementwise, matmul
from tvm import tir
from tvm.ir import Range
from tvm.script import tir as T


def test_operators_build_nodes_and_fold_numbers():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    total = x + y * 2
    assert isinstance(total, tir.Add) and isinstance(total.b, tir.Mul)
    assert total.a.same_as(x) and total.b.b == 2 and total.dtype == "int32"
    assert isinstance(x // 4, tir.FloorDiv) and isinstance(x % 4, tir.FloorMod)
    assert isinstance(1 + tir.const(2, "int32"), tir.IntImm)
    assert isinstance(x < y, tir.LT) and (x < y).dtype == "bool"
    assert isinstance(tir.all(x < y, y < 4), tir.And) and isinstance(tir.any(x < y, y < 4), tir.Or)
    assert isinstance(tir.truncdiv(x, y), tir.Div) and isinstance(tir.max(x, y), tir.Max)
    assert isinstance(x.astype("int64"), tir.Cast) and isinstance(-x, tir.Mul)
    assert isinstance(x << 2, tir.Call) and (x << 2).op.name == "tir.shift_left"
    assert tir.Var("f", "float32").astype("float32").dtype == "float32"



def test_a_node_is_made_by_its_fields():
    x = tir.Var("x", "int32")
    total = tvm.ir.make_node("tir.Add", a=x, b=tvm.ir.make_node("IntImm", dtype="int32", value=1))
    assert isinstance(total, tir.Add) and total.a.same_as(x) and total.b.value == 1
    with pytest.raises(ValueError, match="no node is called that"):
        tvm.ir.make_node("tir.None")

@pytest.mark.parametrize("make, text", [
    (lambda x, z, f: x + z, 'T.Cast("int64", x) + z'),
    (lambda x, z, f: x < f, 'T.Cast("float32", x) < f'),
    (lambda x, z, f: f * 2, "f * T.float32(2.0)"),
    (lambda x, z, f: tir.const(7, "int32") // -2, "-4"),
    (lambda x, z, f: tir.const(7, "int32") % -2, "-1"),
    (lambda x, z, f: tir.truncdiv(tir.const(-7, "int32"), 2), "-3"),
    (lambda x, z, f: tir.ceildiv(x, 4), "(x + 4 - 1) // 4"),
    (lambda x, z, f: x * 0, "0"),
    (lambda x, z, f: x // 1, "x"),
    (lambda x, z, f: x - x, "x - x"),
    (lambda x, z, f: -x, "x * -1"),
    (lambda x, z, f: tir.const(1.5, "int32"), "1"),
    (lambda x, z, f: tir.const(1 << 40), "T.int64(1099511627776)"),
    (lambda x, z, f: tir.Ramp(x, 1, 4) + 1, "T.Ramp(x, 1, 4) + T.Broadcast(1, 4)"),
    (lambda x, z, f: tir.if_then_else(x < 1, x, 1.5), 'T.if_then_else(x < 1, T.Cast("float32", x), T.float32(1.5))'),
    (lambda x, z, f: Range(x, x + 4).extent, "x + 4 - x"),
])
def test_operators_convert_and_fold_as_tvm_0_27_does(make, text):
    assert str(make(tir.Var("x", "int32"), tir.Var("z", "int64"), tir.Var("f", "float32"))) == text


def test_equality_is_an_expression_with_the_truth_of_identity():
    x, y = tir.Var("x", "int32"), tir.Var("x", "int32")
    assert x == x and x != y and not x == y
    assert isinstance((x == y).asobject(), tir.EQ) and isinstance(tir.all(x == y), tir.EQ)
    assert {x: 1, y: 2}[x] == 1 and len({x, y, x}) == 2
    assert tir.const(3, "int32") == 3 and tir.const(3, "int32") != 4
    with pytest.raises(ValueError):
        bool(x < y)


def test_pointers_are_compared():
    p, q = tir.Var("p", "handle"), tir.Var("q", tvm.ir.PointerType(tvm.ir.PrimType("float32")))
    assert p == p and p != q
    assert [str(tir.EQ(p, q)), str(tir.NE(p, q)), str(tir.all(p == q))] == ["p == q", "p != q", "p == q"]
    for refused in (lambda: tir.LT(p, q), lambda: p + q, lambda: tir.EQ(p, tir.StringImm("x"))):
        with pytest.raises(tvm.TVMError):
            refused()

    @T.prim_func
    def func(p: T.handle, q: T.handle, A: T.Buffer((4,), "int32")):
        if p == q:
            A[0] = T.if_then_else(p != A.data, 1, 2)

    condition = func.body.condition
    assert isinstance(condition, tir.EQ) and condition.a.same_as(func.params[0]) and condition.b.same_as(func.params[1])
    tvm.ir.assert_structural_equal(tvm.script.from_source(func.script()), func)
    module = tvm.IRModule({"main": func})
    for name in ("Simplify", "RemoveNoOp", "CommonSubexprElimTIR", "HoistIfThenElse", "StorageRewrite"):
        module = getattr(tir.transform, name)()(module)
    assert "if p == q:" in module["main"].script()


def test_integers_do_not_divide_by_a_slash():
    x = tir.Var("x", "int32")
    with pytest.raises(tvm.TVMError):
        x / 2
    assert isinstance(tir.Var("f", "float32") / 2, tir.Div)


def test_constructors_fold_nothing_and_refuse_mixed_types():
    one, two = tir.const(1, "int32"), tir.const(2, "int32")
    assert isinstance(tir.Add(one, two), tir.Add)
    with pytest.raises(tvm.TVMError, match="mismatched types"):
        tir.Add(one, tir.const(1, "int64"))
    with pytest.raises(tvm.TVMError):
        tir.Select(one, one, two)
    assert tir.Ramp(0, 1, 4).dtype == "int32x4" and tir.Broadcast(one, 8).dtype == "int32x8"


def test_statements_have_tvms_fields():
    root = elementwise.body.block
    assert isinstance(elementwise.body, tir.BlockRealize) and root.name_hint == "root"
    assert [buffer.name for buffer in root.alloc_buffers] == ["B"]
    assert isinstance(root.body, tir.SeqStmt) and len(root.body) == 2
    loop = root.body[0]
    assert isinstance(loop, tir.For) and loop.loop_var.name == "i" and loop.extent == 128
    block = loop.body.body.block
    store = block.body
    assert isinstance(store, tir.BufferStore) and store.buffer.name == "B" and store.buffer.dtype == "float32"
    assert block.reads[0].buffer.name == "A" and block.reads[0].region[0].extent == 1
    assert store.indices[0].same_as(block.iter_vars[0].var)
    assert block.iter_vars[0].dom.extent == 128 and block.init is None


def test_a_loop_can_be_built():
    buffer = tir.decl_buffer((16,), "float32", name="A")
    i = tir.Var("i", "int32")
    loop = tir.For(i, 0, 16, tir.ForKind.PARALLEL, tir.BufferStore(buffer, buffer[i] + 1.0, [i]))
    assert loop.kind == tir.ForKind.PARALLEL and loop.body.value.a.buffer.same_as(buffer)
    assert "T.parallel(16)" in str(loop)
    assert isinstance(buffer[0:4], tir.BufferRegion)
    with pytest.raises(tvm.TVMError, match="1 dimensions, got 2 indices"):
        buffer[i, i]


@pytest.mark.parametrize("build", [
    lambda x, text, pointer: x + text,
    lambda x, text, pointer: pointer * 2,
    lambda x, text, pointer: Range(x, text),
    lambda x, text, pointer: tir.For(x, text, 4, 0, tir.Evaluate(0)),
    lambda x, text, pointer: tir.decl_buffer((text,), "int32"),
    lambda x, text, pointer: tir.IfThenElse(text, tir.Evaluate(0)),
    lambda x, text, pointer: tir.Call("float32", "tir.exp", []),
    lambda x, text, pointer: tir.Call("float32", "tir.no_such_operation", [x]),
    lambda x, text, pointer: tir.Ramp(x, 1, 0),
    lambda x, text, pointer: tir.Cast("int32", text),
    lambda x, text, pointer: tir.IntImm("int8", 500),
    lambda x, text, pointer: tir.SeqStmt([]),
    lambda x, text, pointer: tir.all(x, x),
    lambda x, text, pointer: tir.exp(text),
    lambda x, text, pointer: x // 0,
    lambda x, text, pointer: tir.truncmod(x, 0),
    lambda x, text, pointer: tir.Var("f", "float32") // 2,
    lambda x, text, pointer: tir.Var("f", "float32") & 1,
    lambda x, text, pointer: ~tir.Var("f", "float32"),
])
def test_what_cannot_be_built_is_an_error(build):
    with pytest.raises((tvm.TVMError, TypeError)):
        build(tir.Var("x", "int32"), tir.StringImm("text"), tir.Var("p", "handle"))


def test_visitors_show_blocks():
    kinds = []
    tir.stmt_functor.pre_order_visit(matmul.body, lambda node: kinds.append(type(node).__name__) or True)
    assert kinds.count("Block") == 2 and kinds[:3] == ["BlockRealize", "IntImm", "Block"]
    without = []
    tir.stmt_functor.pre_order_visit(
        matmul.body, lambda node: without.append(type(node).__name__) or not isinstance(node, tir.Block))
    assert without[-1] == "Block" and without.count("Block") == 1
    alone = []
    tir.stmt_functor.post_order_visit(matmul.body.block, alone.append)
    assert alone[-1].same_as(matmul.body.block) and not any(isinstance(node, tir.BlockRealize) and node.block.same_as(
        matmul.body.block) for node in alone)


def test_ir_transform_replaces_blocks():
    def renamed(block):
        return tir.Block(block.iter_vars, block.reads, block.writes, block.name_hint + "_new", block.body, block.init)

    changed = matmul.with_body(tir.stmt_functor.ir_transform(matmul.body, None, renamed, ["tir.Block"]))
    names = []
    tir.stmt_functor.post_order_visit(changed.body, lambda node: isinstance(node, tir.Block) and names.append(node.name_hint))
    assert all(name.endswith("_new") for name in names) and len(names) == 2
    early = tir.stmt_functor.ir_transform(matmul.body.block, lambda block: renamed(block), None, ["tir.Block"])
    assert early.name_hint == "root_new"


def test_visitors_show_a_node_once():
    x = tir.Var("x", "int32")
    e = tir.exp(tir.Cast("float32", x))
    for visit, expected in ((tir.stmt_functor.post_order_visit, ["Var", "Cast", "Call", "Add"]),
                            (tir.stmt_functor.pre_order_visit, ["Add", "Call", "Cast", "Var"])):
        seen = []
        visit(e + e, lambda node: seen.append(type(node).__name__) or True)
        assert seen == expected
    doubled, count = x, []
    for _ in range(64):
        doubled = doubled + doubled
    tir.stmt_functor.post_order_visit(doubled, count.append)
    assert len(count) == 65


def test_a_function_of_a_module_is_the_one_that_was_put_in():
    @T.prim_func
    def named(A: T.Buffer((8,), "float32")):
        A[0] = T.float32(1)

    private = named.without_attr("global_symbol")
    mod = tvm.IRModule({"main": named, "own": private})
    assert mod["main"].same_as(named) and mod["main"] == named and mod["own"].same_as(private)
    assert mod["main"] == mod["main"] and {mod["main"]: 1}[named] == 1 and len({mod["own"], private, named}) == 2
    same = tir.transform.Apply(lambda func: func)(mod)
    assert same["main"].same_as(mod["main"]) and not same["main"].same_as(mod["own"])
    assert not named.with_attr("key", 1).same_as(named)


def test_post_order_visit_reaches_every_node():
    loops, loads = [], []

    def visit(node):
        if isinstance(node, tir.For):
            loops.append(node.loop_var.name)
        elif isinstance(node, tir.BufferLoad):
            loads.append(node.buffer.name)

    tir.stmt_functor.post_order_visit(matmul.body, visit)
    assert loops == ["k", "j", "i"] and sorted(set(loads)) == ["A", "B", "C"]


def test_ir_transform_replaces_nodes():
    def double(node):
        return tir.For(node.loop_var, node.min, node.extent * 2, node.kind, node.body)

    stmt = tir.stmt_functor.ir_transform(elementwise.body, None, double, ["tir.For"])
    assert stmt.block.body[0].extent == 256 and stmt.block.body[0].body.extent == 256
    assert elementwise.body.block.body[0].extent == 128


def test_substitute_replaces_variables():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    tvm.ir.assert_structural_equal(tir.stmt_functor.substitute(x + 1, {x: y * 2}), y * 2 + 1)


def test_assert_structural_equal_says_where_the_difference_is():
    changed = tir.stmt_functor.ir_transform(
        matmul.body, None, lambda node: tir.For(node.loop_var, 0, 64, 0, node.body), ["tir.For"])
    with pytest.raises(ValueError, match=r"body.*extent"):
        tvm.ir.assert_structural_equal(matmul.body, changed)
    assert not tvm.ir.structural_equal(matmul.body, changed)
    assert tvm.ir.structural_equal(Range(0, 4), Range.from_min_extent(0, 4))


if __name__ == "__main__":
    tvm.testing.main()


def test_json_keeps_what_nodes_mean():
    x = tir.Var("x", "int32")
    for node in (x + 1, tir.Evaluate(x * 2), elementwise, tvm.IRModule({"f": elementwise})):
        again = tvm.ir.load_json(tvm.ir.save_json(node))
        tvm.ir.assert_structural_equal(again, node, map_free_vars=True)
    several = tvm.ir.load_json(tvm.ir.save_json({"a": 1, "b": [x, "text", None]}))
    assert several["a"] == 1 and several["b"][1] == "text" and several["b"][0].name == "x"


def test_json_keeps_what_is_no_node_of_the_ir():
    index_map = tir.IndexMap.from_func(lambda i: [i // 4, i % 4], inverse_index_map=lambda i, j: [i * 4 + j])
    pointer = tvm.ir.PointerType(tvm.ir.PrimType("float32"), "shared")
    several = [tvm.target.Target("llvm -mcpu=skylake", host="llvm"), tvm.ir.PrimType("int32"), tvm.ir.GlobalVar("g"),
               tvm.ir.FuncType([pointer], tvm.ir.TupleType([])), tir.layout("NCHW4c")]
    again = tvm.ir.load_json(tvm.ir.save_json([index_map, *several]))
    assert list(again[1:5]) == several[:4] and again[1].host == several[0].host
    assert again[5].name == "NCHW4c" and again[0].is_equivalent_to(index_map)
    assert again[0].inverse_index_map.is_equivalent_to(index_map.inverse_index_map)


def test_a_step_makes_lanes_of_a_slice():
    A = tir.decl_buffer((16, 16), "float32", name="A")
    assert isinstance(A[0:4, 0], tir.BufferRegion)
    assert isinstance(A[0, 0:4:1], tir.BufferLoad) and A[0, 0:4:1].indices[1].lanes == 4
    assert A[0, 0:4:2].indices[1].stride == 2


def test_match_buffer_regions_are_checked():
    A = tir.decl_buffer((16, 16), "float32", name="A", scope="shared")
    part = tir.BufferRegion(A, [Range(3, 4), Range(0, 8)])
    n = tir.Var("n", "int32")
    for shape in ((1, 8), (8,), (n,)):
        assert tir.MatchBufferRegion(tir.decl_buffer(shape, "float32", scope="shared"), part).source.same_as(part)
    for wrong, why in ((tir.decl_buffer((8, 8), "float32", scope="shared"), "extents of the region"),
                       (tir.decl_buffer((1, 1, 8), "float32", scope="shared"), "at most 2 dimensions"),
                       (tir.decl_buffer((8,), "float32"), 'scope "shared"'),
                       (tir.decl_buffer((8,), "int32", scope="shared"), "dtype float32"),
                       (tir.decl_buffer((8,), "float32", scope="shared", data_alignment=128), "alignment"),
                       (tir.decl_buffer((8,), "float32", scope="shared", buffer_type="auto_broadcast"), "broadcasts")):
        with pytest.raises(tvm.TVMError, match=why):
            tir.MatchBufferRegion(wrong, part)


def test_numbers_of_shapes():
    from tvm.topi.utils import get_const_int, get_const_tuple
    n = tir.Var("n", "int32")
    assert get_const_tuple((tir.const(3), 4, n))[:2] == (3, 4) and get_const_int(tir.Add(tir.const(1), tir.const(2))) == 3
    with pytest.raises(ValueError):
        get_const_int(n)
    assert tvm.runtime.convert(lambda a: a + 1)(1) == 2


def test_index_maps_move_arrays():
    values = np.arange(12, dtype="int32").reshape(4, 3)
    moved = tir.IndexMap.from_func(lambda i, j: (i // 2, j, i % 2)).map_ndarray(tvm.nd.array(values))
    np.testing.assert_array_equal(moved.numpy(), values.reshape(2, 2, 3).transpose(0, 2, 1))
    with pytest.raises(tvm.TVMError, match="pad the array"):
        tir.IndexMap.from_func(lambda i: (i // 4, i % 4)).map_ndarray(tvm.nd.array(np.arange(6)))
    with pytest.raises(tvm.TVMError, match="give one per index"):
        tir.IndexMap.from_func(lambda i: (i,)).map_ndarray(tvm.nd.array(values))


def test_reducers_by_the_names_of_tir():
    from tvm import te

    A, k = te.placeholder((8,), name="A"), te.reduce_axis((0, 8), "k")
    product = tir.comm_reducer(lambda x, y: x * y, lambda dtype: tir.const(1, dtype), name="product")
    for reduced in (tir.sum(A[k], axis=k), product(A[k], axis=k)):
        assert isinstance(reduced, tir.Reduce) and reduced.axis[0].same_as(k)
    assert tir.sum(tir.Var("x", "int32"), 3).b == 3


def test_modules_have_attributes():
    mod = tvm.IRModule({}, attrs={"kind": "test"})
    assert dict(mod.attrs) == {"kind": "test"} and mod.get_attr("kind") == "test" and mod.get_attr("other") is None
    more = mod.with_attr("count", 2).with_attrs({"flag": True, "kind": "again"})
    assert more.attrs["count"] == 2 and more.attrs["kind"] == "again" and bool(more.attrs["flag"])
    assert "count" not in more.without_attr("count").attrs
    assert dict(mod.attrs) == {"kind": "test"} and tvm.IRModule({}).attrs is None


def test_an_axis_without_a_domain_says_so():
    x = tir.Var("x", "int32")
    axis = tir.IterVar(None, x, tir.IterVar.DataPar)
    assert axis.dom is None and axis.var.same_as(x)
    assert str(axis) == 'T.iter_var(x, None, "DataPar", "")'
    thread = tvm.te.thread_axis("threadIdx.x")
    assert thread.dom is None and thread.iter_type == tir.IterVar.ThreadIndex
    assert str(tvm.te.thread_axis((0, 4), "threadIdx.x", "tx")) == \
        'T.iter_var(tx, T.Range(0, 4), "ThreadIndex", "threadIdx.x")'
    with pytest.raises(tvm.TVMError, match="of the domain's type int32, got float32"):
        tir.IterVar(Range(0, 4), tir.Var("x", "float32"), 0)


def test_reducers_and_reductions_are_nodes():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    reducer = tir.CommReducer([x], [y], [x + y], [tir.const(0, "int32")])
    assert reducer.lhs[0].same_as(x) and reducer.rhs[0].same_as(y) and str(reducer.result[0]) == "x + y"
    assert reducer.identity_element[0] == 0 and str(reducer) == "T.comm_reducer(lambda x, y: x + y, [0])"
    assert tvm.ir.structural_equal(reducer, tir.CommReducer([y], [x], [y + x], [tir.const(0, "int32")]))
    assert not tvm.ir.structural_equal(reducer, tir.CommReducer([x], [y], [x * y], [tir.const(0, "int32")]))
    k = tvm.te.reduce_axis((0, 4), "k")
    total = tir.Reduce(reducer, [k.var], [k], tir.const(True, "bool"), 0)
    assert str(total) == ('T.reduce(T.comm_reducer(lambda x, y: x + y, [0]), source=[k], init=[], '
                          'axis=[T.iter_var(k, T.Range(0, 4), "CommReduce", "")], condition=T.bool(True), value_index=0)')
    assert tvm.ir.structural_equal(total, tvm.te.sum(k.var, axis=k))
    assert isinstance(tvm.te.sum(k.var, axis=k).combiner, tir.CommReducer)
    with pytest.raises(tvm.TVMError, match="expected 1 variables, results and identities"):
        tir.CommReducer([x], [y], [x + y, x], [tir.const(0, "int32")])
    with pytest.raises(tvm.TVMError, match="expected 1 sources and the number of one, got 1 and 1"):
        tir.Reduce(reducer, [k.var], [k], tir.const(True, "bool"), 1)


@pytest.mark.parametrize("make, errors, why", [
    (lambda x, f: tir.Add(x, f), (TypeError, tvm.TVMError), "mismatched types. int32 vs. float32"),
    (lambda x, f: tir.Select(x > 1, x, f), (TypeError, tvm.TVMError), "two values of one type"),
    (lambda x, f: tir.And(x, x), (tvm.error.InternalError,), "expected booleans"),
    (lambda x, f: tir.IntImm("int8", 300), (ValueError, tvm.TVMError), "expected a value of int8, got 300"),
    (lambda x, f: tir.IntImm("uint8", -1), (ValueError, tvm.TVMError), "expected a value of uint8"),
    (lambda x, f: tir.IntImm("bool", 2), (ValueError, tvm.TVMError), "expected 0 or 1"),
    (lambda x, f: tir.IntImm("float32", 2), (ValueError, tvm.TVMError), "a type of integers"),
    (lambda x, f: tir.IntImm("int32", 1.5), (TypeError,), "expected an integer"),
    (lambda x, f: tir.FloatImm("float16", 1e6), (ValueError, tvm.TVMError), "leaves float16"),
    (lambda x, f: tir.const(300, "int8"), (ValueError, tvm.TVMError), "expected a value of int8"),
    (lambda x, f: tir.call_intrin("int32", "tir.foo", x), (AttributeError, tvm.TVMError), "no operation is named"),
])
def test_refusals_have_the_classes_of_tvm(make, errors, why):
    for error in errors:
        with pytest.raises(error, match=why):
            make(tir.Var("x", "int32"), tir.Var("f", "float32"))


def test_containers_are_compared_item_by_item():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    same = tvm.ir.structural_equal
    assert same({"a": [x + 1, 2]}, {"a": [x + 1, 2]}) and not same({"a": 1}, {"b": 1}) and not same({"a": 1}, {"a": 2})
    assert same(None, None) and not same(None, x) and not same(x, None) and not same({}, [])
    assert not same({"a": x}, {"a": y}) and same({"a": x}, {"a": y}, map_free_vars=True)
    code = tvm.ir.structural_hash
    assert code({"a": 1, "b": None}) == code({"b": None, "a": 1}) != code({"a": 2, "b": None})
    assert code([1, 2]) != code([2, 1])


@pytest.mark.parametrize("a, b, left, right", [
    ({"a": 1, "b": [1, 2]}, {"a": 1, "b": [1, 3]}, '<root>["b"][1].value', '<root>["b"][1].value'),
    ({"a": 1}, {"b": 1}, '<root>["a"]', '<root>[<missing:"a">]'),
    ([1, 2], [1, 2, 3], "<root>[<missing:2>]", "<root>[2]"),
])
def test_a_difference_of_containers_has_its_places(a, b, left, right):
    with pytest.raises(ValueError) as error:
        tvm.ir.assert_structural_equal(a, b)
    assert f"caused by lhs at {left}:\n" in str(error.value) and f"and rhs at {right}:\n" in str(error.value)


def _loop_body(func):
    return func.body.block.body


PARTS = [lambda: tir.Var("x", "int64"), lambda: tir.Var("x", "int32") * 3 + 1, lambda: tir.const(1.5, "float16"),
         lambda: elementwise.body, lambda: _loop_body(elementwise), lambda: Range(1, 5), lambda: tvm.ir.Op.get("tir.exp"),
         lambda: tir.decl_buffer((4, 8), "float32", "Q"), lambda: _loop_body(matmul).body.body.body.block,
         lambda: _loop_body(matmul).body.body.body.block.reads[0], lambda: elementwise,
         lambda: tir.IterVar((0, 8), "v", tir.IterVar.CommReduce), lambda: tvm.IRModule({"f": elementwise})]


@pytest.mark.parametrize("make", PARTS)
def test_nodes_are_pickled(make):
    node = make()
    again = pickle.loads(pickle.dumps(node))
    assert type(again) is type(node)
    tvm.ir.assert_structural_equal(again, node, map_free_vars=True)


def test_variables_that_pickled_nodes_share_stay_one():
    x = tir.Var("x", "int32")
    total = pickle.loads(pickle.dumps(x + x * 2))
    assert total.a.same_as(total.b.a) and not total.a.same_as(x)


def test_nodes_are_their_own_copies_and_modules_have_others():
    total = tir.Var("x", "int32") + 1
    assert copy.copy(total).same_as(total) and copy.deepcopy([total])[0].same_as(total)
    module = tvm.IRModule({"f": elementwise})
    other = copy.deepcopy(module)
    other["g"] = matmul
    assert len(module) == 1 and len(other) == 2


def test_index_maps_are_pickled_with_their_inverse():
    index_map = tir.IndexMap.from_func(lambda i, j: [j, i // 4, i % 4], inverse_index_map=lambda j, a, b: [a * 4 + b, j])
    again = pickle.loads(pickle.dumps(index_map))
    assert again.is_equivalent_to(index_map) and str(again) == str(index_map)
    assert str(index_map).endswith(", inverse_index_map=lambda j, a, b: (a * T.int64(4) + b, j))")
    narrow = tir.IndexMap.from_func(lambda i, j: [j, i], index_dtype="int32")
    assert pickle.loads(pickle.dumps(narrow)).initial_indices[0].dtype == "int32"


X = tir.Var("x", "int32")


@pytest.mark.parametrize("make, text", [
    (lambda: tir.AttrStmt(X, "key", 1, tir.Evaluate(X)), 'x = T.int32()\nwith T.attr(x, "key", 1):\n    T.evaluate(x)'),
    (lambda: tir.LetStmt(X, tir.const(1), tir.Evaluate(X + 1)), "with T.LetStmt(1) as x:\n    T.evaluate(x + 1)"),
    (lambda: tir.SeqStmt([tir.Evaluate(1), tir.LetStmt(X, tir.const(1), tir.Evaluate(X))]),
     "T.evaluate(1)\nx: T.int32 = 1\nT.evaluate(x)"),
    (lambda: _loop_body(elementwise)[0].body.body.block,
     'with T.block("B", no_realize=True):\n    vi = T.axis.spatial(128)\n    vj = T.axis.spatial(128)\n'
     "    T.reads(A[vi, vj])\n    T.writes(B[vi, vj])\n    B[vi, vj] = A[vi, vj] * T.float32(2.0)"),
])
def test_parts_are_shown_as_they_stand_alone(make, text):
    shown = str(make())
    assert [line for line in shown.strip().split("\n") if "= T.Buffer" not in line] == text.split("\n")


@pytest.mark.parametrize("make, kind", [
    (lambda: tir.Var("x", "nothing"), ValueError), (lambda: tir.Cast("nothing", X), ValueError),
    (lambda: tir.LetStmt(X, tir.const(1.5), tir.Evaluate(0)), TypeError),
    (lambda: tir.IndexMap.from_func(lambda i: [i, "a"]), TypeError),
    (lambda: tir.IndexMap.from_func(lambda *i: [*i]), AssertionError),
    (lambda: tvm.device("nothing"), ValueError), (lambda: tvm.target.Target(3), ValueError),
])
def test_wrong_words_and_types_are_errors_of_tvms_classes(make, kind):
    with pytest.raises(kind):
        make()


def test_names_of_what_all_dialects_share():
    assert isinstance(elementwise, tvm.ir.BaseFunc) and isinstance(X + 1, tvm.ir.PrimExpr)
    place = tvm.ir.Span(tvm.ir.SourceName("a.py"), 1, 1, 2, 3)
    assert place.source_name.name == "a.py" and tir.Var("x", "int32", place).name == "x"
    target = tvm.target.Target("llvm")
    assert target.same_as(target) and not target.same_as(tvm.target.Target("llvm"))


def test_containers_and_types_are_shown_as_tvm_shows_them():
    assert str(tvm.runtime.convert({"a": [1, "b"]})) == '{"a": [1, "b"]}'
    assert repr(tvm.ir.PrimType("int8")) == "T.int8"
    assert repr(tvm.ir.PointerType(tvm.ir.PrimType("int8"), "shared")) == 'T.handle("int8", "shared")'


def test_a_ramp_takes_its_stride_as_its_base_is():
    wide = tir.Ramp(tir.Var("x", "int64"), 1, 4)
    assert wide.dtype == "int64x4" and wide.stride.dtype == "int64"


def test_a_part_of_an_array_has_its_type_last():
    handle = tir.Var("h", "handle")
    part = tir.tvm_struct_get(handle, 0, 1, "int32")
    assert part.dtype == "int32" and part.args[0].same_as(handle) and len(part.args) == 3


def test_buffers_and_regions_as_texts():
    n, m = tir.Var("n", "int32"), tir.Var("m", "int32")
    A, B = tir.decl_buffer((128, n), "float32", name="A"), tir.decl_buffer((64, 1), "float16", name="A")
    region = tir.BufferRegion(A, [Range(0, m), Range(1, 2)])
    assert (str(A), repr([A]), f"{A}", A.script()) == ("A", "[A]", "A", "A")
    assert A.script(verbose_expr=True) == "n = T.int32()\nA = T.Buffer((128, n))\nA"
    assert str(region) == "A[0:m, 1]"
    assert region.script(verbose_expr=True) == "n = T.int32()\nA = T.Buffer((128, n))\nm = T.int32()\nA[0:m, 1]"
    match = tir.MatchBufferRegion(B, tir.BufferRegion(tir.decl_buffer((128, 4), "float16", name="A"),
                                                      [Range(64, 128), Range(0, 1)]))
    assert str(match) == ('A_1 = T.Buffer((128, 4), "float16")\n'
                          'A = T.match_buffer(A_1[64:128, 0], (64, 1), "float16")')


def test_a_launched_thread_needs_no_domain():
    tx = tir.Var("tx", "int32")
    launch = tir.AttrStmt(tir.IterVar(None, tx, 1, "threadIdx.x"), "thread_extent", 64, tir.Evaluate(tx))
    assert launch.script() == 'with T.launch_thread("threadIdx.x", 64) as tx:\n    T.evaluate(tx)\n'.rstrip("\n")


def test_types_as_texts():
    pointer = tvm.ir.PointerType(tvm.ir.PrimType("int32"), "shared")
    assert tvm.ir.PrimType("int32").script() == "T.int32" and pointer.script() == 'T.handle("int32", "shared")'
    assert str(tvm.ir.TupleType([])) == "None"


_A = tir.decl_buffer((4, 4), name="A")
_x, _l, _f = tir.Var("x", "int32"), tir.Var("l", "int64"), tir.Var("f", "float32")
_nothing = tir.Evaluate(0)


@pytest.mark.parametrize("make, error", [
    (lambda: tir.For(_f, 0, 4, tir.ForKind.SERIAL, _nothing), tvm.TVMError),
    (lambda: tir.For(_l, 0, _x, tir.ForKind.SERIAL, _nothing), tvm.TVMError),
    (lambda: tir.For(_x, _l, 4, tir.ForKind.SERIAL, _nothing), tvm.TVMError),
    (lambda: tir.BufferRegion(_A, [Range(0, 1)]), tvm.TVMError),
    (lambda: _A[tir.Ramp(_x, 1, 4), 0], tvm.TVMError),
    (lambda: tir.decl_buffer((4, 4), axis_separators=[3]), ValueError),
    (lambda: tir.decl_buffer((4, 4, 4), axis_separators=[2, 1]), ValueError),
    (lambda: _A.vload((0, 0), "int32"), tvm.TVMError),
    (lambda: _A.vstore((0, 0), _x), tvm.TVMError),
    (lambda: _A.access_ptr("x"), ValueError),
    (lambda: tir.Allocate(tir.Var("p", "handle"), "int8", [4], tir.const(True), _nothing), tvm.TVMError),
    (lambda: tir.Allocate(tir.Var("p", tvm.ir.PointerType(tvm.ir.PrimType("int32"))), "int8", [4], tir.const(True),
                          _nothing), tvm.TVMError),
    (lambda: tir.AssertStmt(_x > 0, tir.Var("text", "handle"), _nothing), TypeError),
])
def test_nodes_that_are_refused(make, error):
    with pytest.raises(error):
        make()
