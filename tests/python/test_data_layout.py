"""tir.layout and tir.bijective_layout: what TVM 0.27 answers to the same questions."""
import pytest
import tvm
import tvm.testing
from tvm import tir


def numbers(values):
    return tuple(int(value) for value in values)


def test_a_layout_knows_its_axes():
    layout = tir.layout("NCHW16c")
    assert isinstance(layout, tir.Layout) and layout.name == "NCHW16c" and len(layout) == 5
    assert [layout[i] for i in range(5)] == list("NCHWc") and layout[-1] == "c"
    assert "c" in layout and "O" not in layout
    assert layout.index_of("W") == 3 and layout.index_of("O") == -1
    assert layout.factor_of("c") == 16 and layout.factor_of("C") == 16 and layout.factor_of("N") == -1
    assert int(layout.axes[4].dom.extent) == 16
    assert tir.layout("NCHW", "int64").axes[0].var.dtype == "int64"


def test_shapes_and_indices_go_both_ways():
    way = tir.bijective_layout("NCHW", "NCHW16c")
    assert numbers(way.forward_shape((1, 33, 7, 7))) == (1, 3, 7, 7, 16)
    assert numbers(way.backward_shape((1, 2, 7, 7, 16))) == (1, 32, 7, 7)
    assert numbers(way.forward_index([0, 18, 6, 6])) == (0, 1, 6, 6, 2)
    assert numbers(way.backward_index([0, 1, 6, 6, 2])) == (0, 18, 6, 6)
    between = tir.bijective_layout("NCHW8c", "NCHW16c")
    assert numbers(between.forward_index([0, 3, 1, 1, 5])) == (0, 1, 1, 1, 13)
    n, c = tir.Var("n", "int32"), tir.Var("c", "int32")
    tvm.ir.assert_structural_equal(way.forward_index([n, c, 0, 0])[1], c // 16)
    tvm.ir.assert_structural_equal(way.forward_shape([n, c, 4, 4])[1], (c + 15) // 16)


@pytest.mark.parametrize("source, target", [("NCHW", "ABCD"), ("__undef__", "NCHW"), ("", "NCHW")])
def test_layouts_of_other_dimensions_have_no_way(source, target):
    assert tir.bijective_layout(source, target) is None


@pytest.mark.parametrize("name, why", [("NHWc", "got 'c'"), ("NC16HW", "got 'H'"), ("16cNHW", "is a part of 'C'"),
                                       ("NCHWN", "appears twice"), ("NCHW16", "ends with a factor")])
def test_what_is_no_layout_is_refused(name, why):
    with pytest.raises(tvm.TVMError, match=why):
        tir.layout(name)
    with pytest.raises(tvm.TVMError, match="expected 4 values, got 2"):
        tir.bijective_layout("NCHW", "NHWC").forward_shape((1, 2))


if __name__ == "__main__":
    tvm.testing.main()
