"""Questions about functions."""
import math

from lathe import _lib
from lathe.error import TVMError
from lathe.ir.module import IRModule
from lathe.ir.transform import Pass, PassInfo
from lathe.runtime.data_type import DataType


def _funcs(obj):
    return [func for _, func in obj.functions_items()] if isinstance(obj, IRModule) else [obj]


def verify_well_formed(obj, assert_mode=True):
    """Whether every variable is defined once and before its use; raises ValueError otherwise if assert_mode."""
    return all([_lib.verify_well_formed(func, assert_mode) for func in _funcs(obj)])


def verify_ssa(func):
    """Whether every variable and buffer is defined once."""
    return _lib.verify_ssa(func)


def verify_memory(func):
    """Whether a function for a GPU touches memory of its parameters in launches of threads only."""
    return _lib.verify_memory(func)


def verify_gpu_code(func, constraints):
    """Whether the kernels of a lowered function fit: max_threads_per_block, max_thread_x, max_shared_memory_per_block,
    max_local_memory_per_block, max_vthread, max_vector_bytes, max_kernels."""
    return _lib.verify_gpu_code(func, constraints)


def is_pure_function(func):
    """Whether the function writes nothing but what it allocates, and calls nothing that might."""
    return _lib.is_pure_function(func)


def assert_pure_function(func):
    """True; AssertionError where is_pure_function says no."""
    try:
        _lib.check_pure(func)
    except TVMError as error:
        raise AssertionError(str(error)) from None
    return True


def estimate_tir_flops(stmt_or_mod):
    """How many operations a statement or the functions of a module do at most."""
    return float(_lib.estimate_flops(stmt_or_mod))


def find_anchor_block(mod):
    """The block with an init that computes most; None: no block has one."""
    return _lib.find_anchor_block(mod)


def expr_deep_equal(lhs, rhs):
    """Whether both are the same expression of the same variables."""
    return _lib.structural_equal(lhs, rhs, False)


def get_block_access_region(block, buffer_var_map):
    """What the block reads, what it writes, and what may be either, by its body. buffer_var_map: the buffer of each
    data variable from outside."""
    return _lib.block_access_region(block, buffer_var_map)


def get_block_read_write_region(block, buffer_var_map):
    """What the block reads, with what may be either, and what it writes, likewise."""
    return _lib.block_read_write_region(block, buffer_var_map)


def detect_buffer_access_lca(func):
    """For each buffer the loop or block that is the innermost around all its accesses; None: the whole function."""
    return _lib.buffer_access_lca(func)


def calculate_allocated_bytes(func_or_mod):
    """Bytes that are allocated inside, by scope; of a module, by function."""
    if isinstance(func_or_mod, IRModule):
        return {var.name_hint: _lib.allocated_bytes(func) for var, func in func_or_mod.functions_items()}
    return {"main": _lib.allocated_bytes(func_or_mod)}


def calculate_workspace_bytes(func, workspace_byte_alignment):
    """Bytes of workspace that live at once at most, each allocation rounded up to the alignment."""
    return _lib.workspace_bytes(func, workspace_byte_alignment)


def calculate_constant_bytes(func, constant_byte_alignment):
    """Bytes of the constants that a function holds, each rounded up to the alignment."""
    from lathe.tir import stmt, stmt_functor
    sizes = []

    def visit(node):
        if isinstance(node, stmt.AllocateConst):
            dtype = DataType(node.dtype)
            count = math.prod(int(extent) for extent in node.extents)
            sizes.append(count * ((dtype.bits * dtype.lanes + 7) // 8))

    stmt_functor.post_order_visit(func.body, visit)
    return sum(-(-size // constant_byte_alignment) * constant_byte_alignment for size in sizes)


def get_vtcm_compaction_passes():
    """The passes after which allocated_bytes says how much of a scope a function needs."""
    from lathe.tir import transform
    names = ("LowerInitBlock", "PlanAndUpdateBufferAllocationLocation", "ConvertBlocksToOpaque", "CompactBufferAllocation",
             "LowerMatchBuffer", "InjectSoftwarePipeline", "LowerOpaqueBlock", "FlattenBuffer", "Simplify", "VectorizeLoop",
             "StorageRewrite")
    return [getattr(transform, name)() for name in names]


def undefined_vars(node, defs=None):
    """Variables that are used and not defined inside, nor among `defs`."""
    given = defs or []
    return [var for var in _lib.undefined_vars(node) if not any(var.same_as(each) for each in given)]


def OOBChecker():
    """A pass that raises ScheduleError where an index can be proved to leave its buffer."""

    def check(mod, ctx):
        for func in _funcs(mod):
            _lib.check_bounds(func)
        return mod

    return Pass(check, PassInfo(0, "tir.analysis.OOBChecker"))
