"""Names around building: targets, options of passes, types, what modules and measurements say."""
import numpy as np
import pytest
import tvm
from tvm.script import tir as T


@T.prim_func
def fill(A: T.Buffer((4,), "float32")):
    T.func_attr({"global_symbol": "fill"})
    for i in range(4):
        A[i] = T.float32(3)


@pytest.mark.parametrize("name", ["default_function", "main", "fill"])
def test_a_function_built_alone_answers_to_each_of_its_names(name):
    built, a = tvm.build(fill, target="llvm"), tvm.nd.empty((4,))
    built[name](a)
    assert a.numpy().tolist() == [3] * 4 and built.implements_function(name)
    with pytest.raises(AttributeError):
        built["other"]


def test_a_name_that_is_given_is_the_only_one():
    built = tvm.build(fill, target="llvm", name="mine")
    built["mine"](tvm.nd.empty((4,)))
    with pytest.raises(AttributeError):
        built["default_function"]


def test_a_dict_of_targets_is_built():
    a = tvm.nd.empty((4,))
    tvm.build({"llvm": tvm.IRModule({"f": fill})})["f"](a)
    assert a.numpy().tolist() == [3] * 4
    with pytest.raises(tvm.TVMError, match="several targets"):
        tvm.build({"llvm": tvm.IRModule({"f": fill}), "cuda": tvm.IRModule({"g": fill})})


def test_a_module_says_what_it_is(tmp_path):
    built = tvm.build(fill, target="llvm")
    assert built.type_key == "llvm" and list(built.imported_modules) == []
    built.save(str(tmp_path / "f.so"))
    loaded = tvm.runtime.load_module(str(tmp_path / "f.so"))
    loaded["default_function"](tvm.nd.empty((4,)))
    assert loaded.type_key == "library"
    with pytest.raises(tvm.TVMError, match='not as "o"'):
        built.save(str(tmp_path / "f.o"))


def test_a_measurement_has_its_spread():
    built = tvm.build(fill, target="llvm")
    result = built.time_evaluator("main", tvm.cpu(), number=2, repeat=4)(tvm.nd.empty((4,)))
    np.testing.assert_allclose(result.std, np.std(result.results))
    np.testing.assert_allclose(result.median, np.median(result.results))


def test_options_of_passes_are_checked():
    known = tvm.transform.PassContext.list_configs()
    assert "tir.UnrollLoop" in known and known["tir.disable_vectorize"]["type"] == "bool"
    for config in ({"tir.disable_vectorize": 1}, {"tir.UnrollLoop": {"auto_max_step": 8}}, {"relay.anything": "x"}):
        assert tvm.transform.PassContext(config=config).config == config
    with pytest.raises(AttributeError, match='no option "tir.NoSuch"'):
        tvm.transform.PassContext(config={"tir.NoSuch": 1})


@pytest.mark.parametrize("config, message", [
    ({"tir.disable_vectorize": "yes"}, "bool required"),
    ({"tir.vtcm_capacity": "many"}, "int required"),
    ({"tir.UnrollLoop": {"auto_max_step": "x"}}, "int required"),
])
def test_options_of_another_type_are_refused(config, message):
    with pytest.raises(tvm.TVMError, match=message):
        tvm.transform.PassContext(config=config)


@pytest.mark.parametrize("given, message", [(3, "Map required"), ({"no_such_field": 3}, 'no field "no_such_field"')])
def test_maps_of_other_fields_are_refused(given, message):
    with pytest.raises(AttributeError, match=message):
        tvm.transform.PassContext(config={"tir.UnrollLoop": given})


def test_fields_of_options_are_attributes():
    unroll = tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 10}}).config["tir.UnrollLoop"]
    assert unroll.auto_max_step == 10 and unroll.auto_max_depth == 8
    assert unroll.explicit_unroll == True  # noqa: E712: 1


def test_a_boolean_has_one_bit():
    boolean = tvm.DataType("bool")
    assert boolean.bits == 1 and boolean.itemsize == 1 and boolean.type_code == tvm.runtime.DataTypeCode.UINT
    assert tvm.DataType("uint1") == boolean == "bool" and tvm.DataType("uint1x4") == "boolx4"
    assert tvm.DataType("int8") != boolean and tvm.DataType("int8").bits == 8


def test_a_type_of_no_kind_is_a_value_error():
    with pytest.raises(ValueError, match="foo32"):
        tvm.DataType("foo32")


def test_the_current_target_is_the_one_that_was_entered():
    with tvm.target.Target("llvm") as target:
        assert tvm.target.Target.current().same_as(target) and not target.same_as(tvm.target.Target("llvm"))


@pytest.mark.parametrize("target, number", [("llvm", 1), ("c", 1), ("cuda", 2), ("opencl", 4), ("vulkan", 7), ("hexagon", 14)])
def test_a_target_knows_its_devices(target, number):
    assert tvm.target.Target(target).get_target_device_type() == number


def test_targets_are_brought_to_one_form():
    make = tvm.target.Target
    assert make.canon_target("llvm").kind.name == "llvm" and make.canon_target(None) is None
    target, host = make.canon_target_and_host("cuda", "llvm")
    assert target.host == host == make("llvm")
    assert make.canon_target_and_host({"kind": "cuda", "host": "c"})[1].kind.name == "c"
    assert make.canon_target_and_host(None) == (None, None)


def test_arm_targets_have_keys_and_features():
    target = tvm.target.Target("llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod")
    assert target.keys == ["arm_cpu", "cpu"]
    assert target.features.has_dotprod and not target.features.has_sve and target.features.is_aarch64
    assert tvm.target.Target("llvm").keys == ["cpu"] and not tvm.target.Target("llvm").features.has_dotprod


def test_a_device_of_no_kind_is_a_value_error():
    with pytest.raises(ValueError, match="nosuch"):
        tvm.device("nosuch")


def test_names_that_programs_ask_for():
    assert tvm.__version__.startswith("0.18")
    assert isinstance(tvm.tir.const(1), tvm.ir.PrimExpr) and isinstance(fill, tvm.ir.BaseFunc)
    span = tvm.ir.Span(tvm.ir.SourceName("f.py"), 1, 2, 3, 4)
    assert span.line == 1 and span.source_name.name == "f.py"
