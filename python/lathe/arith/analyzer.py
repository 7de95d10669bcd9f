"""Facts about integer expressions, and what follows from them."""
import enum

from lathe._lib import Analyzer, ConstIntBound, ModularSet
from lathe.error import InternalError
from lathe.arith.int_set import same_value
from lathe.ir.base import structural_equal
from lathe.ir.expr import Range
from lathe.tir.expr import IntImm


# What structural_equal compares.
ConstIntBound.comparable = lambda bound: ["ConstIntBound", bound.min_value, bound.max_value]
ModularSet.comparable = lambda modular: ["ModularSet", modular.coeff, modular.base]
ConstIntBound.same_as = ModularSet.same_as = same_value


class ProofStrength(enum.IntEnum):
    """How hard can_prove tries; each proof here is as hard as it gets."""

    DEFAULT, SYMBOLIC_BOUND = 0, 1


class Extension(enum.Flag):
    """What an Analyzer's simplifications do besides."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4


def _set_extensions(analyzer, extensions):
    analyzer.extension_bits = Extension(extensions).value


Analyzer.enabled_extensions = property(lambda analyzer: Extension(analyzer.extension_bits), _set_extensions)

_bind, _update = Analyzer.bind, Analyzer.update


def _say(analyzer, var, info, override):
    """Notes what is said of a variable: another fact of the same kind is refused, unless it is to replace the first."""
    said = vars(analyzer).setdefault("said", {}).setdefault(var, {})
    kind = "remainder" if isinstance(info, ModularSet) else "range"
    if not override and kind in said and not structural_equal(said[kind], info):
        raise InternalError(f"Analyzer: {var} has the {kind} {said[kind]} already, not {info}; say that it is replaced")
    said[kind] = info
    return said


def _range_said(expr):
    """Ranges of numbers as their ends, ranges of one value as that value."""
    low, extent = (expr.min, expr.extent) if isinstance(expr, Range) else (expr, 1)
    low, extent = (int(end) if isinstance(end, (int, IntImm)) else end for end in (low, extent))
    if isinstance(low, int) and isinstance(extent, int):
        return ConstIntBound(low, low + extent - 1)
    return low if isinstance(extent, int) and extent == 1 else expr


def _bind_once(self, var, expr, allow_override=False):
    """From now on `var` lies in the range, or is the expression; other ones replace that where they are allowed to."""
    said = _say(self, var, _range_said(expr), allow_override)
    _bind(self, var, expr)
    if "remainder" in said and isinstance(expr, Range):
        _update(self, var, said["remainder"])


def _update_once(self, var, info, override=False):
    """What is known of `var` is this bound, or this remainder, and nothing else of its kind."""
    if not isinstance(info, (ConstIntBound, ModularSet)):
        raise TypeError(f"Analyzer.update: {info} is neither a ConstIntBound nor a ModularSet")
    _say(self, var, info, override)
    _update(self, var, info)


Analyzer.bind, Analyzer.update = _bind_once, _update_once
