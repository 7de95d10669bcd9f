"""What rules of schedules do with several primitives."""
from lathe.tir.function import TensorIntrin
from lathe.tir.schedule.analysis import get_tensorize_loop_mapping


def tile_with_tensor_intrin(sch, block, intrin_name, allow_padding=False):
    """Splits and orders the loops of the block so that the innermost ones are those of the intrinsic; the outermost of
    these, or None where they do not fit."""
    desc = TensorIntrin.get(intrin_name).desc
    info = get_tensorize_loop_mapping(sch, block, desc, allow_padding)
    if info is None:
        return None
    if info.block_iter_paddings:
        _pad(sch, block, info.block_iter_paddings)
        info = get_tensorize_loop_mapping(sch, block, desc)
    inner = _split(sch, block, info)
    _move_inside(sch, block, inner)
    return inner[0]


def _pad(sch, block, paddings):
    """What makes an operand is computed where it is padded, and the result is cropped where it is read."""
    before = [sch.get(each).name_hint for each in sch.get_producers(block)]
    sch.pad_einsum(block, paddings)
    for producer in sch.get_producers(block):
        made_by = sch.get_producers(producer)
        if sch.get(producer).name_hint not in before and len(made_by) == 1:
            sch.compute_inline(made_by[0])
    for crop in sch.get_consumers(block):
        if sch.get_consumers(crop):
            sch.compute_inline(crop)


def _split(sch, block, info):
    """The inner parts, in the intrinsic's order."""
    inner = [None] * len(info.loop_map)
    for rv in sch.get_loops(block):
        desc_loop = info.loop_map.get(sch.get_sref(rv))
        if desc_loop is not None:
            inner[info.desc_loop_indexer[desc_loop]] = sch.split(rv, [None, int(desc_loop.extent)])[1]
    return inner


def _move_inside(sch, block, inner):
    """The loops between the outermost inner part and the block come before all inner parts."""
    srefs = [sch.get_sref(rv) for rv in inner]
    loops = sch.get_loops(block)
    is_inner = [any(sch.get_sref(rv) == sref for sref in srefs) for rv in loops]
    after = loops[is_inner.index(True):]
    others = [rv for rv, inside in zip(after, is_inner[is_inner.index(True):]) if not inside]
    sch.reorder(*others, *inner)
