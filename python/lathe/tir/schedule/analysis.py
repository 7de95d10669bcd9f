"""Questions about blocks that rules of schedules ask."""
from typing import NamedTuple

from lathe import arith
from lathe.ir.expr import Range
from lathe.tir import stmt_functor
from lathe.tir.expr import Var
from lathe.tir.index_map import IndexMap
from lathe.tir.stmt import Block, BlockRealize, For


def has_block(sch, block_name):
    """Whether a block of the schedule's module has that name."""
    found = []

    def look(node):
        found.append(isinstance(node, Block) and node.name_hint == block_name)

    for func in sch.mod.functions.values():
        stmt_functor.post_order_visit(func.body, look)
    return any(found)


def is_output_block(sch, block):
    """Whether the block writes what its scope does not allocate."""
    scope = sch.get_sref(block).parent
    while not isinstance(scope.stmt, Block):
        scope = scope.parent
    return any(all(not region.buffer.same_as(own) for own in scope.stmt.alloc_buffers) for region in sch.get(block).writes)


class TensorizeInfo(NamedTuple):
    """Which loops around a block do what the loops of an intrinsic do (loop_map: places of loops to the intrinsic's
    loops), the order of the latter, and the padding of the block's iterators that it takes, or None."""

    loop_map: dict
    desc_loop_indexer: dict
    block_iter_paddings: list


def get_tensorize_loop_mapping(sch, block, desc_func, allow_padding=False):
    """From the innermost iterators outwards, each of the intrinsic's is the next one of the block of the same kind. None
    where there is none, or where its extent is no multiple and nothing may be padded."""
    desc_realize, desc_loops = _only_block(desc_func)
    loops = [(sch.get_sref(rv), sch.get(rv)) for rv in sch.get_loops(block)]
    free, loop_map, paddings = list(_bindings(_realize_of(sch, block))), {}, {}
    for desc_iter, desc_value in reversed(list(_bindings(desc_realize))):
        desc_loop = _loop_of(desc_value, desc_loops)
        match = None if desc_loop is None else _take_match(free, desc_iter, loops)
        if match is None:
            return None
        position, (sref, loop) = match
        if int(loop.extent) % int(desc_loop.extent) != 0:
            if not allow_padding:
                return None
            paddings[position] = int(desc_loop.extent)
        loop_map[sref] = desc_loop
    order = {loop: i for i, loop in enumerate(desc_loops)}
    num_iters = len(sch.get(block).iter_vars)
    return TensorizeInfo(loop_map, order, [paddings.get(i, 1) for i in range(num_iters)] if paddings else None)


def suggest_index_map(buffer, indices, loops, predicate):
    """The layout of the buffer in which the loops, from the outermost on, go through it in order; None where the indices are
    no such map."""
    domains = {loop.loop_var: _domain(loop) for loop in loops}
    flat = arith.detect_iter_map([_flattened(indices, buffer.shape)], domains, predicate, "nocheck", False)
    if len(flat.indices) != 1:
        return None
    splits = _splits(flat.indices[0])
    positions = [_position(split, loops) for split in splits]
    if None in positions:
        return None
    order = sorted(range(len(splits)), key=lambda i: (positions[i], -int(splits[i].lower_factor)))
    return _map_of([int(split.extent) for split in splits], order, buffer.shape)


def _only_block(func):
    """The block of an intrinsic's description, and the loops around it."""
    body, loops = func.body.block.body, []
    while isinstance(body, For):
        loops.append(body)
        body = body.body
    return body, loops


def _realize_of(sch, block):
    loops = sch.get_loops(block)
    wanted, found = sch.get(block), []

    def look(node):
        if isinstance(node, BlockRealize) and node.block.same_as(wanted):
            found.append(node)

    stmt_functor.post_order_visit(sch.get(loops[0]) if loops else sch.get_sref(block).parent.stmt.body, look)
    return found[0]


def _bindings(realize):
    return zip(realize.block.iter_vars, realize.iter_values)


def _loop_of(value, loops):
    """The loop whose variable the value is, up to what no loop changes."""
    analyzer = arith.Analyzer()
    for loop in reversed(loops):
        rest = analyzer.simplify(value - loop.loop_var)
        if not _uses(rest, loops):
            return loop
    return None


def _uses(expr, loops):
    found = []
    stmt_functor.post_order_visit(expr, lambda node: found.append(any(node.same_as(loop.loop_var) for loop in loops)))
    return any(found)


def _take_match(free, desc_iter, loops):
    """The last of the free iterators of that kind which is a loop; what comes after it is taken, too."""
    while free:
        iter_var, value = free.pop()
        loop = _loop_of(value, [each for _, each in loops]) if iter_var.iter_type == desc_iter.iter_type else None
        if loop is not None:
            return len(free), next(each for each in loops if each[1].same_as(loop))
    return None


def _domain(loop):
    return Range.from_min_extent(loop.min, loop.extent)


def _flattened(indices, shape):
    flat = 0
    for index, extent in zip(indices, shape):
        flat = flat * extent + index
    return flat


def _splits(total):
    """The parts of a sum, also where they are fused to one."""
    while len(total.args) == 1 and isinstance(total.args[0].source.source, arith.IterSumExpr):
        total = total.args[0].source.source
    return list(total.args)


def _position(split, loops):
    """Of the loop whose variable the split is of."""
    source = split.source.source
    if isinstance(source, arith.IterSumExpr):
        return None
    return next((i for i, loop in enumerate(loops) if source.same_as(loop.loop_var)), None)


def _map_of(extents, order, shape):
    """Splits the flat index into parts, and puts those in order."""
    shape = [int(extent) for extent in shape]

    def forward(*indices):
        parts = _parts(indices, shape, extents)
        return [parts[i] for i in order]

    def backward(*indices):
        parts = [indices[order.index(i)] for i in range(len(order))]
        return _parts(parts, extents, shape)

    inverse = _index_map(backward, len(order))
    return _index_map(forward, len(shape), inverse)


def _index_map(function, ndim, inverse=None):
    initial = [Var(f"i{i}", "int32") for i in range(ndim)]
    return IndexMap(initial, function(*initial), inverse)


def _parts(digits, bases, extents):
    """The digits of a number for other bases."""
    analyzer, parts = arith.Analyzer(), []
    for digit, base in zip(digits, bases):
        analyzer.bind(digit, Range(0, base))
    flat = _flattened(digits, bases)
    for extent in reversed(extents):
        flat = analyzer.simplify(flat)
        parts.append(analyzer.simplify(flat % extent))
        flat = flat // extent
    return parts[::-1]
