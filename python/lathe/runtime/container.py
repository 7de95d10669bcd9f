"""Texts and shapes as nodes."""
from lathe.runtime import ShapeTuple, String
