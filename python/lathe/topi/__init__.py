"""The operator library by TVM's names."""
from lathe import te
from lathe._lib import topi as _topi
from lathe.topi import broadcast, math, nn, reduction, tag, testing, utils

globals().update({_name: getattr(_topi, _name) for _name in dir(_topi) if not _name.startswith("_") and _name != "nn"})
