"""Lowering and building."""
from lathe.driver import build_module
from lathe.driver.build_module import build, compile, lower
