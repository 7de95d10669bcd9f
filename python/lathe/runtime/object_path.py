"""Where in a tree of nodes something stands."""
import re


class ObjectPath:
    """Steps from the root: attributes, indices, keys. Equal where the steps are."""

    __slots__ = ("steps",)
    _STEP = re.compile(r'\.(\w+)|\[(\d+)\]|\["([^"]*)"\]')

    def __init__(self, steps=()):
        self.steps = tuple(steps)

    @staticmethod
    def root(name=None):
        return ObjectPath()

    @staticmethod
    def parse(text):
        """The path that str() wrote, without the root."""
        return ObjectPath(("." + attr) if attr else int(index) if index else ("[" + key + "]")
                          for attr, index, key in ObjectPath._STEP.findall(text))

    def attr(self, attr_key):
        return ObjectPath(self.steps + ("." + attr_key,))

    def array_index(self, index):
        return ObjectPath(self.steps + (index,))

    def map_value(self, key):
        return ObjectPath(self.steps + (f"[{key}]",))

    @property
    def parent(self):
        return ObjectPath(self.steps[:-1]) if self.steps else None

    def is_prefix_of(self, other):
        return other.steps[:len(self.steps)] == self.steps

    def __len__(self):
        return len(self.steps) + 1

    def __eq__(self, other):
        return isinstance(other, ObjectPath) and self.steps == other.steps

    def __hash__(self):
        return hash(self.steps)

    def __repr__(self):
        return "<root>" + "".join(f"[{step}]" if isinstance(step, int) else step for step in self.steps)
