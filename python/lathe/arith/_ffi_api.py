"""What programs for TVM reach by this name only."""
from lathe.arith.analyzer import Analyzer
from lathe.ir.expr import Range


def DomainTouched(stmt, buffer, consider_loads, consider_stores):
    """The box of a buffer's elements that a statement may touch, a Range per dimension; empty where it touches none."""
    from lathe import tir
    accesses, domains = [], {}

    def visit(node):
        if isinstance(node, tir.For):
            domains[node.loop_var] = Range.from_min_extent(node.min, node.extent)
        if isinstance(node, tir.AttrStmt) and isinstance(node.node, tir.IterVar):
            domains[node.node.var] = Range.from_min_extent(0, node.value)
        is_access = consider_loads and isinstance(node, tir.BufferLoad) or consider_stores and isinstance(node, tir.BufferStore)
        if is_access and node.buffer.same_as(buffer):
            accesses.append(node.indices)

    tir.stmt_functor.post_order_visit(stmt, visit)
    return [_box([_ends(index, domains) for index in of_dimension]) for of_dimension in zip(*accesses)]


def _ends(index, domains):
    """Least and greatest value, in which no variable of `domains` is left."""
    from lathe import tir
    low = high = index
    if isinstance(index, tir.Ramp):
        low, high = index.base, index.base + index.stride * (int(index.lanes) - 1)
    analyzer = Analyzer()
    for _ in domains:  # Bounds of a loop may name those around it.
        low, high = analyzer.int_set(low, domains).min_value, analyzer.int_set(high, domains).max_value
    return low, high


def _box(ends):
    from lathe import tir
    analyzer, (low, high) = Analyzer(), ends[0]
    for other_low, other_high in ends[1:]:
        low, high = tir.min(low, other_low), tir.max(high, other_high)
    return Range.from_min_extent(analyzer.simplify(low), analyzer.simplify(high - low + 1))
