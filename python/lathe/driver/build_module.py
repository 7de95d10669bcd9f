"""lathe.build and lathe.lower."""
import pathlib

from lathe import _lib, te
from lathe.error import TVMError
from lathe.ir.module import IRModule
from lathe.ir.transform import PassContext, Sequential
from lathe.runtime.module import Module
from lathe.target import Target
from lathe.tir import transform
from lathe.tir.buffer import decl_buffer
from lathe.tir.function import PrimFunc
from lathe.tir.schedule import Schedule


def _module_of(inputs, args, name, **options):
    module = _plain_module_of(inputs, args, name, **options)
    if PassContext.current().config.get("tir.instrument_bound_checkers"):
        return transform.InstrumentBoundCheckers()(module)
    return module


def _plain_module_of(inputs, args, name, **options):
    if isinstance(inputs, te.Schedule):
        if args is None:
            raise ValueError("lower: a schedule of stages needs args, the tensors and variables that it is called with")
        return IRModule({name or "main": _as_promised(inputs.lower(list(args), name or "main", **options))})
    if isinstance(inputs, Schedule):
        return inputs.mod
    if isinstance(inputs, IRModule):
        return inputs
    return IRModule({name or "main": inputs})


def _module_with_binds(inputs, args, name, binds, **options):
    """Of stages: arguments may be tensors, or the buffers that `binds` says for them."""
    args = args and [next((tensor for tensor, buffer in binds.items() if arg is buffer), arg) for arg in args]
    module = _module_of(inputs, args, name, **options)
    bound = [(i, binds[arg]) for i, arg in enumerate(args or []) if isinstance(arg, te.Tensor) and arg in binds]
    return _lib.bind_buffers(module, bound) if bound else module


def _as_promised(func):
    """No two buffers of what is lowered share memory, unless the context says otherwise."""
    is_promised = PassContext.current().config.get("tir.noalias", True)
    return func.with_attr("tir.noalias", True) if is_promised else func.without_attr("tir.noalias")


def _check_program(what, inputs):
    if not isinstance(inputs, (te.Schedule, Schedule, IRModule, PrimFunc)):
        raise ValueError(f"{what}: expected an IRModule, a PrimFunc or a schedule, got {type(inputs)}")


def _module_to_lower(inputs, args, name, binds):
    _check_program("lower", inputs)
    of_stages = isinstance(inputs, te.Schedule)
    if isinstance(inputs, PrimFunc):
        inputs = _as_promised(inputs.with_attr("global_symbol", name))
    module = _module_with_binds(inputs, args, name, binds, **{"starts_apart": True} if of_stages else {})
    return te.schedule.loops_of(module) if of_stages else module


def _builder():
    """lathe-builder: beside the package in a wheel, in bin/ of the build folder otherwise."""
    package = pathlib.Path(_lib.__file__).resolve().parent
    for path in (package / "bin" / "lathe-builder", package.parent.parent / "bin" / "lathe-builder"):
        if path.exists():
            return str(path)
    raise FileNotFoundError(f"build: no lathe-builder beside {package}; build the target lathe-builder")


def _target_of(modules):
    """That of a dict of targets, which all are for the same."""
    targets = [Target(each) for each in modules]
    if any(each != targets[0] for each in targets):
        raise TVMError("build: modules for several targets; build each alone, kernels run on the CPU")
    return targets[0]


def schedule_to_module(sch, args=None, name="main", binds=None):
    """What stages make of args, as a module."""
    return _module_with_binds(sch, args, name, dict(binds or {}))


def get_binds(args, compact=False, binds=None):
    """The buffers that tensors of args become, those of `binds` first; and args with buffers in the place of tensors."""
    del compact
    binds, made = dict(binds or {}), []
    for arg in args:
        if isinstance(arg, te.Tensor) and arg not in binds:
            binds[arg] = decl_buffer(arg.shape, arg.dtype, arg.name)
        made.append(binds[arg] if isinstance(arg, te.Tensor) else arg)
    return binds, made


def _merged(modules):
    merged = IRModule({})
    for module in modules:
        _check_program("build", module)
        merged.update(_module_of(module, None, "main"))
    return merged


def _other_names(inputs):
    """Of a function that is built alone: what TVM calls it, and what it is called."""
    symbol = inputs.attrs.get("global_symbol") if isinstance(inputs, PrimFunc) else None
    return {"default_function", "main", str(symbol)} if isinstance(inputs, PrimFunc) else ()


def build(inputs, args=None, target=None, target_host=None, runtime=None, name=None, binds=None):
    """Compiles for `target`, by default this machine: a PrimFunc, a module, a schedule's module, what stages make of args,
    with the buffers that tensors of args become in `binds`; or a list of these, or a dict of targets to modules."""
    if isinstance(inputs, dict):
        inputs, target = list(inputs.values()), _target_of(inputs)
    if isinstance(inputs, (list, tuple)):
        inputs = _merged(inputs)
    _check_program("build", inputs)
    target = Target(target or Target.current() or "auto")
    default = "default_function" if isinstance(inputs, (te.Schedule, PrimFunc)) else "main"
    lib = _lib.build(_module_with_binds(inputs, args, name or default, dict(binds or {})), target.build_text(), _builder())
    return Module(lib, target.kind.name, () if name else _other_names(inputs))


compile = build


def lower(inp, args=None, name="main", binds=None, simple_mode=False):
    """The module after TVM's passes that come before code generation, and those of "tir.add_lower_pass": pairs of a phase
    and a pass. simple_mode: loops stay whole. binds: the buffers that tensors of args become."""
    mod, context = _module_to_lower(inp, args, name, dict(binds or {})), PassContext.current()
    target, of_stages = Target.current(allow_none=True), isinstance(inp, te.Schedule)
    options = {**({} if target is None else {"target": target.as_attr()}), **context.config}
    added = [(int(phase), each) for phase, each in context.config.get("tir.add_lower_pass", [])]
    passes = []
    for phase in range(_lib.num_lower_phases):
        passes += [transform.pass_of_row(row, options) for row in _lib.lower_phase(phase, simple_mode, of_stages)]
        passes += [each for at, each in added if min(at, _lib.num_lower_phases - 1) == phase]
    return Sequential(passes)(mod)
