"""Helpers that programs for TVM take from tvm.contrib."""
from lathe.contrib import utils
