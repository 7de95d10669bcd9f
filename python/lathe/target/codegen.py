"""What makes code."""
from lathe import _lib


def llvm_version_major(allow_none=False):
    """LLVM's, with which kernels are built."""
    return _lib.llvm_version_major


def llvm_lookup_intrinsic_id(name):
    """What calls of an intrinsic name it by: its name, numbers differ between LLVMs."""
    return name
