"""Layouts of data by name, as "NCHW16c", and the way between two of them."""
from lathe import _lib


class Layout:
    """A capital letter is a dimension, a small one with a factor a part that was split off it."""

    def __init__(self, name, dtype="int32"):
        self._layout, self.dtype = _lib.parse_layout(name), dtype

    name = property(lambda self: self._layout.name)
    axes = property(lambda self: self._layout.axes_of(self.dtype))

    def __len__(self):
        return len(self._layout.letters())

    def __contains__(self, axis):
        return len(axis) == 1 and axis in self._layout.letters()

    def __getitem__(self, index):
        return self._layout.letters()[index]

    def index_of(self, axis):
        """The place of an axis; -1: there is none."""
        return self._layout.index_of(axis)

    def factor_of(self, axis):
        """What is split off the dimension of this letter; -1: nothing."""
        return self._layout.factor_of(axis)

    def __repr__(self):
        return f"Layout({self.name})"


class BijectiveLayout:
    """Positions and shapes of one layout in another."""

    def __init__(self, src_layout, dst_layout, way):
        self.src_layout, self.dst_layout = src_layout, dst_layout
        self._forward, self._backward = way, way.inverse()

    def forward_index(self, index):
        return self._forward.index(list(index))

    def backward_index(self, index):
        return self._backward.index(list(index))

    def forward_shape(self, shape):
        return self._forward.shape(list(shape))

    def backward_shape(self, shape):
        return self._backward.shape(list(shape))

    def __repr__(self):
        return f"BijectiveLayout({self.src_layout.name}->{self.dst_layout.name})"


def layout(layout_str, dtype="int32"):
    """The layout of this name."""
    return Layout(layout_str, dtype)


def bijective_layout(src_layout, dst_layout):
    """The way between two layouts, or their names; None where their dimensions differ."""
    source, target = (Layout(each) if isinstance(each, str) else each for each in (src_layout, dst_layout))
    way = _lib.layout_map(source._layout, target._layout)
    return None if way is None else BijectiveLayout(source, target, way)
