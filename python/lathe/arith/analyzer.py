"""Facts about integer expressions, and what follows from them."""
import enum

from lathe._lib import Analyzer, ConstIntBound, ModularSet


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
