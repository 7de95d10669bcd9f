"""Facts about integer expressions, and what follows from them."""
from lathe._lib import Analyzer, ConstIntBound, IntervalSet, ModularSet
