"""Functions that are called by what they are given."""
from lathe.runtime.module import PackedFunc
