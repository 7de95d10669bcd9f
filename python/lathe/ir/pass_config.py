"""Options of PassContext: the names that TVM v0.18 knows, and what they hold."""
from lathe.error import TVMError

_FLAG, _NUMBER, _TEXT, _LIST = "bool", "int", "str", "Array"

# Options that are maps: their fields, each with what counts where it is not given; the value says the kind.
_FIELDS = {
    "tir.UnrollLoop": {"auto_max_step": 0, "auto_max_depth": 8, "auto_max_extent": 0, "explicit_unroll": 1,
                       "unroll_local_access": 0},
    "tir.LoopPartition": {"partition_const_loop": False, "no_unroll_loop_with_extent_one": False,
                          "unroll_loop_with_partition_hint_no_interval": False},
    "tir.InjectDoubleBuffer": {"split_loop": 1},
    "tir.HoistIfThenElse": {"support_block_scope_hosting": False, "support_block_scope_hoisting": False},
    "tir.HoistExpression": {"hoisted_conditionals": 15, "hoisted_let_bindings": 7},
    "tir.Simplify": {"transitively_prove_inequalities": False, "propagate_knowns_to_prove_conditional": False,
                     "propagate_knowns_to_simplify_expressions": False, "convert_boolean_to_and_of_ors": False,
                     "apply_constraints_to_boolean_branches": False},
    "tir.RemoveNoOp": {"use_dataflow_analysis": False, "max_simplification_steps": 0},
    "tir.ReduceBranchingThroughOvercompute": {"use_dataflow_analysis": False},
}
_FLAGS = ("tir.debug_keep_trivial_loop tir.detect_global_barrier tir.disable_assert tir.disable_cse_tir "
          "tir.disable_storage_rewrite tir.disable_vectorize tir.dma_bypass_cache tir.enable_buffer_level_predication "
          "tir.enable_debug tir.enable_equiv_terms_in_cse_tir tir.experimental_dma_bypass_cache tir.instr_siblings "
          "tir.instrument_bound_checkers tir.instrument_lwp tir.is_entry_func tir.lwp_disable_func_prof "
          "tir.merge_static_smem tir.noalias tir.ptx_ldg32 tir.reset_start_id tir.use_async_copy "
          "testing.immutable_module").split()
_NUMBERS = "tir.lwp_max_depth tir.lwp_min_height tir.vtcm_capacity cache_line_size".split()
_KINDS = {**dict.fromkeys(_FIELDS, "Map"), **dict.fromkeys(_FLAGS, _FLAG), **dict.fromkeys(_NUMBERS, _NUMBER),
          "tir.add_lower_pass": _LIST, "cuda.kernels_output_dir": _TEXT}
# Of parts of TVM that are not here: every name is taken, and means nothing.
_ELSEWHERE = ("relay.", "relax.", "tir.usmp.", "tir.contrib.")
_TYPES = {_FLAG: (bool, int), _NUMBER: (int,), _TEXT: (str,), _LIST: (list, tuple), "Map": (dict,)}


class OptionFields(dict):
    """An option that is a map: what was given as items, every field as an attribute."""

    def __init__(self, name, given):
        super().__init__(given)
        self.__dict__.update(_FIELDS[name], **given)


def list_configs():
    """Every option and what it holds."""
    return {name: {"type": kind} for name, kind in _KINDS.items()}


def checked(config):
    """The options, if there are such and they have the types that they need."""
    for name, value in config.items():
        if not name.startswith(_ELSEWHERE):
            _check(name, value)
    return {name: OptionFields(name, value) if name in _FIELDS else value for name, value in config.items()}


def _check(name, value):
    if name not in _KINDS:
        raise AttributeError(f'PassContext: there is no option "{name}"; known: {", ".join(sorted(_KINDS))}')
    _check_type(name, value, _KINDS[name])
    for field, part in value.items() if name in _FIELDS else ():
        _check_field(name, field, part)


def _check_field(name, field, part):
    if field not in _FIELDS[name]:
        raise AttributeError(f'PassContext: "{name}" has no field "{field}"; known: {", ".join(_FIELDS[name])}')
    _check_type(f"{name}.{field}", part, _FLAG if isinstance(_FIELDS[name][field], bool) else _NUMBER)


def _check_type(name, value, kind):
    if not isinstance(getattr(value, "value", value), _TYPES[kind]):
        kind_of_error = AttributeError if kind == "Map" else TVMError
        raise kind_of_error(f'PassContext: "{name}" is {value!r}; {kind} required')
