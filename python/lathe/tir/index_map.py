"""Maps from indices to indices."""
import inspect

from lathe._lib import IndexMap
from lathe.tir.expr import Var

IndexMap.AXIS_SEPARATOR = "axis_separator"


def _from_func_with_separators(mapping_function, ndim=None, inverse_index_map=None, *, index_dtype="int64"):
    """The map that a Python function of indices says, and where its result has IndexMap.AXIS_SEPARATOR."""
    params = inspect.signature(mapping_function).parameters
    named = [name for name, param in params.items() if param.kind == param.KEYWORD_ONLY]
    names = []
    for name, param in params.items():
        if param.kind == param.VAR_POSITIONAL:
            if ndim is None:
                raise AssertionError("from_func: the function takes any number of indices; say ndim")
            names += [f"{name}_{i}" for i in range(ndim - len(names) - len(named))]
        elif name not in named:
            names.append(name)
    initial = [Var(name, index_dtype) for name in names + named]
    result = mapping_function(*initial[:len(names)], **dict(zip(named, initial[len(names):])))
    result = result if isinstance(result, (list, tuple)) else [result]
    final, separators = [], []
    for item in result:
        if isinstance(item, str) and item == IndexMap.AXIS_SEPARATOR:
            separators.append(len(final))
        elif isinstance(item, (str, float)):
            raise TypeError(f"from_func: the function gives {item!r}; give expressions or IndexMap.AXIS_SEPARATOR")
        else:
            final.append(item)
    if inverse_index_map is not None and not isinstance(inverse_index_map, IndexMap):
        inverse_index_map = _from_func(inverse_index_map, len(final), index_dtype=index_dtype)
    return IndexMap(initial, final, inverse_index_map), separators


def _from_func(mapping_function, ndim=None, inverse_index_map=None, *, index_dtype="int64"):
    """The map that a Python function of indices says."""
    return _from_func_with_separators(mapping_function, ndim, inverse_index_map, index_dtype=index_dtype)[0]


def _map_ndarray(self, arr_src):
    """The elements of the array where the map takes them."""
    from lathe.runtime.ndarray import array

    source = arr_src.numpy()
    shape, places = self.array_places(source.shape)
    result = source.copy().reshape(-1)
    result[places] = source.reshape(-1)
    return array(result.reshape(shape))


def _comparable(self):
    """What structural_equal compares: the map as a function of its indices."""
    from lathe.tir import Evaluate, PrimFunc, stmt_seq

    body = stmt_seq(*map(Evaluate, self.final_indices)) if self.final_indices else Evaluate(0)
    return ["IndexMap", PrimFunc(self.initial_indices, body), self.inverse_index_map]


IndexMap.map_ndarray = _map_ndarray
IndexMap.comparable = _comparable
IndexMap.from_func = staticmethod(_from_func)
IndexMap.from_func_with_separators = staticmethod(_from_func_with_separators)
