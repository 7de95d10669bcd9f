"""The compiler's passes by TVM's names: one per row of compiler/lower.cc, and what makes passes of Python functions.
docs/python.md says which of TVM's have no counterpart."""
import enum

from lathe import _lib
from lathe.error import PassValueError, TVMError
from lathe.ir.expr import lowering_of
from lathe.ir.transform import Pass, PassContext, PassInfo, PrimFuncPass, prim_func_pass
from lathe.runtime.registry import get_global_func


class HoistedConditionals(enum.IntFlag):
    """Which conditions HoistExpression moves."""

    Never = 0
    IfElseStmt, IfElseExpr, BooleanExpression, UsingBlockVar = 1, 2, 4, 8
    All = IfElseStmt | IfElseExpr | BooleanExpression | UsingBlockVar


class HoistedLetBindings(enum.IntFlag):
    """Which let bindings HoistExpression moves."""

    Never = 0
    RequiredByConditional, LetStmt, LetExpr = 1, 2, 4
    All = RequiredByConditional | LetStmt | LetExpr


def pass_of_row(row, config=None):
    """The compiler's pass by the name of its row, with options other than the context's."""
    return Pass(lambda mod, context: _lib.run_pass(row, mod, context.config if config is None else config),
                PassInfo(0, "tir." + _camel_case(row)))


def _constructor(name, row):
    def construct(*args, **options):
        return pass_of_row(row)

    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = f"The pass {name}."
    return construct


_SPELLED = {"bf16_compute_legalize": "BF16ComputeLegalize", "bf16_storage_legalize": "BF16StorageLegalize",
            "fp8_compute_legalize": "FP8ComputeLegalize", "fp8_storage_legalize": "FP8StorageLegalize",
            "common_subexpr_elim_tir": "CommonSubexprElimTIR", "convert_ssa": "ConvertSSA",
            "inject_ptx_async_copy": "InjectPTXAsyncCopy", "inject_ptx_ldg32": "InjectPTXLDG32",
            "lower_tvm_builtin": "LowerTVMBuiltin", "make_packed_api": "MakePackedAPI", "make_unpacked_api": "MakeUnpackedAPI"}


def _camel_case(row):
    return _SPELLED.get(row) or "".join(word.capitalize() for word in row.split("_"))


for _row in _lib.pass_names():
    globals()[_camel_case(_row)] = _constructor(_camel_case(_row), _row)


def VectorizeLoop(enable_vectorize=True):
    """Vectorized loops as vector statements, or as serial loops."""
    options = {"tir.disable_vectorize": not enable_vectorize}  # Only lower and build ask the context.
    return Pass(lambda mod, context: _lib.run_pass("vectorize_loop", mod,
                                                   {**_current_target(), **context.config, **options}),
                PassInfo(0, "tir.VectorizeLoop"))


def _current_target():
    """For passes that ask what code is made for, where a function does not say it."""
    from lathe.target import Target

    target = Target.current(allow_none=True)
    return {} if target is None else {"target": target.as_attr()}


def CommonSubexprElimTIR(enable_cse_tir=True, identify_equiv_terms=False):
    """What is computed several times is computed once. Terms are compared as they are written, or, with
    identify_equiv_terms, as they simplify."""
    options = {"tir.enable_equiv_terms_in_cse_tir": identify_equiv_terms}
    return Pass(lambda mod, context: _lib.run_pass("common_subexpr_elim_tir", mod, options) if enable_cse_tir else mod,
                PassInfo(0, "tir.CommonSubexprElimTIR"))


def HoistIfThenElse(variant=None):
    """Conditions out of loops that they do not depend on; "basic": without options."""
    return Pass(lambda mod, context: _lib.run_pass("hoist_if_then_else", mod, {} if variant else context.config),
                PassInfo(0, "tir.HoistIfThenElse"))


def DefaultGPUSchedule():
    """Threads for functions that nobody scheduled, as many as the current target has."""

    def schedule(mod, context):
        from lathe.target import Target

        target = Target.current(allow_none=True)
        if target is None:
            raise TVMError("DefaultGPUSchedule: Target is not set in current context; write `with Target(...)`")
        return _lib.default_gpu_schedule(mod, target.max_num_threads)

    return Pass(schedule, PassInfo(0, "tir.DefaultGPUSchedule"))


def FP8ComputeLegalize(promote_dtype_str="float32"):
    """Arithmetic on floats of 8 bits in wider ones."""
    return Pass(lambda mod, context: _lib.fp8_compute_legalize(mod, promote_dtype_str),
                PassInfo(0, "tir.FP8ComputeLegalize"))


def LowerIntrin():
    """Operations as the target has them: by rules of programs (tvm.ir.register_intrin_lowering), then divisions."""

    def rule(kind, call):
        name = getattr(call.op, "name", "")
        of_target = lowering_of(name, kind)
        return None if of_target is None else of_target(call)

    return Pass(lambda mod, context: _lib.lower_intrin(mod, rule), PassInfo(0, "tir.LowerIntrin"))


def NarrowDataType(target_bits):
    """Index arithmetic in fewer bits where bounds allow it."""
    return Pass(lambda mod, context: _lib.narrow_data_type(mod, target_bits), PassInfo(0, "tir.NarrowDataType"))


def _raises_value_error(name, row, doc):
    def inject(mod, context):
        try:
            return _lib.run_pass(row, mod, {})
        except TVMError as error:
            raise PassValueError(str(error)) from None

    def construct():
        return Pass(inject, PassInfo(0, "tir." + name))

    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = doc + "; PassValueError where it cannot."
    return construct


InjectSoftwarePipeline = _raises_value_error("InjectSoftwarePipeline", "inject_software_pipeline",
                                             "Loops whose annotations say so as pipelines")
LowerCrossThreadReduction = _raises_value_error("LowerCrossThreadReduction", "lower_cross_thread_reduction",
                                                "Reductions whose steps are threads as reductions across them")


def StorageFlatten(cache_line_size, create_bound_attribute=False):
    """Buffers of te's stages in one dimension, prefetches as calls for each line of cache; other functions stay."""
    if create_bound_attribute:
        raise TVMError("StorageFlatten: create_bound_attribute=True is not supported; bounds are those of the buffers")
    options = {"cache_line_size": cache_line_size}
    return Pass(lambda mod, context: _lib.run_pass("storage_flatten", mod, {**context.config, **options}),
                PassInfo(0, "tir.StorageFlatten"))


def InjectCopyIntrin(pragma_key, fintrin):
    """Loops under the pragma as fintrin(src, dst, pad_before, pad_after, pad_value) says."""
    return Pass(lambda mod, context: _lib.inject_copy_intrin(mod, pragma_key, fintrin),
                PassInfo(0, "tir.InjectCopyIntrin"))


def InjectPTXLDG32(enable_inject_ptx_intrin=True):
    """Reads under a condition as loads under a predicate."""
    return Pass(lambda mod, context: _lib.run_pass("inject_ptx_ldg32", mod, {}) if enable_inject_ptx_intrin else mod,
                PassInfo(0, "tir.InjectPTXLDG32"))


def LowerDeviceStorageAccessInfo():
    """Memory of kinds of their own, as the functions "tvm.info.mem.<scope>" say that it is."""

    def info_of(scope):
        known = get_global_func("tvm.info.mem." + scope, allow_missing=True)
        return None if known is None else known()

    return Pass(lambda mod, context: _lib.lower_device_storage_access_info(mod, info_of),
                PassInfo(0, "tir.LowerDeviceStorageAccessInfo"))


def RemapThreadAxis(axis_map):
    """Launches of the axes with these tags as launches of the given ones."""
    return Pass(lambda mod, context: _lib.remap_thread_axis(mod, dict(axis_map.items())),
                PassInfo(0, "tir.RemapThreadAxis"))


def ThreadSync(storage_scope):
    """Barriers where threads exchange values through memory of this scope."""
    return Pass(lambda mod, context: _lib.thread_sync(mod, storage_scope), PassInfo(0, "tir.ThreadSync"))


def Apply(ftransform):
    """ftransform(function) of every function."""
    return prim_func_pass(lambda func, mod, ctx: ftransform(func), opt_level=0, name="Apply")


def Filter(fcond):
    """Only the functions of which fcond(function) holds."""
    return prim_func_pass(lambda func, mod, ctx: func if fcond(func) else None, opt_level=0, name="tir.Filter")


def BindTarget(target):
    """The attribute "target" for functions that have none; the target's host for those that run there."""

    def bind(func, mod, ctx):
        if "tir.is_host_func" in func.attrs:
            return func.without_attr("tir.is_host_func").with_attr("target", target.host or target)
        return func if "target" in func.attrs else func.with_attr("target", target)

    return prim_func_pass(bind, opt_level=0, name="tir.BindTarget")


def AnnotateEntryFunc():
    """Marks the only function of a module as its entry."""

    def annotate(mod, ctx):
        exposed = [(var, func) for var, func in mod.functions_items() if "global_symbol" in func.attrs]
        if len(exposed) == 1:
            mod = mod.clone()
            mod[exposed[0][0]] = exposed[0][1].with_attr("tir.is_entry_func", True)
        return mod

    return Pass(annotate, PassInfo(0, "tir.AnnotateEntryFunc"))


def _check(name, of_function):
    def verify(mod, ctx):
        for _, func in mod.functions_items():
            of_function(func)
        return mod

    return Pass(verify, PassInfo(0, "tir." + name))


def VerifySSA():
    """The module itself; TVMError where a variable is defined twice."""
    return _check("VerifySSA", _lib.check_ssa)


def VerifyMemory():
    """The module itself; TVMError where a function for a GPU touches its parameters outside of launches."""
    return _check("VerifyMemory", _lib.check_memory)


def VerifyGPUCode(constraints):
    """The module itself; TVMError where kernels exceed the constraints, which says by what."""
    return _check("VerifyGPUCode", lambda func: _lib.check_gpu_code(func, constraints))


def VerifyVTCMLimit(default_target=None):
    """The module itself; TVMError where a function has more "global.vtcm" than its target ("vtcm-capacity"), else the
    default one, or that number of bytes."""
    limit = default_target if isinstance(default_target, int) else int(
        default_target.attrs.get("vtcm-capacity", 0)) if default_target else 0
    return _check("VerifyVTCMLimit", lambda func: _lib.check_vtcm_limit(func, limit))
