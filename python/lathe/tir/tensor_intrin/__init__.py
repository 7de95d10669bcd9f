"""Names of the tensor intrinsics that are there without being registered (compiler/schedule/intrinsics)."""
from lathe.tir.tensor_intrin import arm_cpu, cuda, x86
