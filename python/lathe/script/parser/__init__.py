"""Reading programs, by the names of TVM's parser."""
from lathe.script import ir, tir
from lathe.script.decorator import from_source, from_source as parse, ir_module
