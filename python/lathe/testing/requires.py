"""What a test needs of the machine. This build runs kernels on the CPU by LLVM; what needs more is skipped, with its
name."""
import functools
import importlib.util
import platform
import sys

import pytest

from lathe import _lib
from lathe.runtime.module import enabled

device_enabled = enabled


def enabled_targets():
    from lathe.runtime.ndarray import cpu
    return [("llvm", cpu(0))]


def exclude_targets(*targets):
    """For tests that take target and dev: those targets are left out."""
    return _skip_where_target(targets, "the test excludes it")


def known_failing_targets(*targets):
    """As exclude_targets, for targets that the test is known to fail for."""
    return _skip_where_target(targets, "the test is known to fail for it")


def _skip_where_target(targets, why):
    def decorate(func):
        @functools.wraps(func)
        def checked(*args, **options):
            target = str(options.get("target", ""))
            if target.split()[:1] and target.split()[0] in targets:
                pytest.skip(f"{target}: {why}")
            return func(*args, **options)

        return checked

    return decorate


class _Feature:
    """A mark for functions, usable with and without parentheses; .marks() for pytest.param."""

    def __init__(self, name, exists):
        self.name, self.exists = name, exists

    def marks(self):
        return [] if self.exists else [pytest.mark.skip(reason=f"needs {self.name}")]

    def __call__(self, func=None):
        if func is None:
            return self
        for mark in self.marks():
            func = mark(func)
        return func


class _CpuFeature(_Feature):
    """A mark for functions that need one of these features of LLVM's in this machine."""

    def __init__(self, name, *features):
        super().__init__(name, bool(set(features) & set(_lib.Target("auto").features)))


requires_llvm = _Feature("llvm", True)
requires_gpu = _Feature("a GPU", False)
uses_gpu = _Feature("a GPU", True)
requires_cuda = _Feature("CUDA", False)
requires_rocm = _Feature("ROCm", False)
requires_vulkan = _Feature("Vulkan", False)
requires_metal = _Feature("Metal", False)
requires_opencl = _Feature("OpenCL", False)
requires_hexagon = _Feature("Hexagon", False)
requires_tensorcore = _Feature("tensor cores", False)
requires_matrixcore = _Feature("matrix cores", False)
requires_rpc = _Feature("TVM's RPC", False)
requires_cudnn = _Feature("cuDNN", False)
requires_cutlass = _Feature("CUTLASS", False)
requires_cublas = _Feature("cuBLAS", False)
requires_cudagraph = _Feature("graphs of CUDA", False)
requires_nvptx = _Feature("the NVPTX backend", False)
requires_hipblas = _Feature("hipBLAS", False)
requires_rocblas = _Feature("rocBLAS", False)
requires_x86 = _Feature("x86-64", platform.machine() == "x86_64")
requires_aarch64 = requires_arm_dot = _Feature("AArch64", platform.machine() == "aarch64")
requires_x86_vnni = _CpuFeature("VNNI", "avx512vnni", "avxvnni")
requires_x86_avx512 = _CpuFeature("AVX512", "avx512f")
requires_x86_amx = _CpuFeature("AMX", "amx-int8")
requires_aarch64_sve = _CpuFeature("SVE", "sve")
requires_aarch64_sme = _CpuFeature("SME", "sme")


def requires_cuda_compute_version(major_version, minor_version=0, *args):
    return _Feature(f"a GPU of compute capability {major_version}.{minor_version}", False)


def requires_nvcc_version(major_version, minor_version=0, release_version=0, *args):
    return _Feature(f"nvcc {major_version}.{minor_version}", False)


def requires_llvm_minimum_version(major_version):
    return _Feature(f"LLVM {major_version}", _lib.llvm_version_major >= major_version)


def requires_package(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return _Feature(", ".join(missing or packages), not missing)


def is_ampere_or_newer():
    """Whether kernels would run on a GPU of compute capability 8.0: they run on the CPU."""
    return False


def skip_if_wheel_test(func):
    return func


def skip_if_32bit(reason):
    """A mark for what needs pointers of 64 bits."""
    return pytest.mark.skipif(sys.maxsize < 2**32, reason=reason)


def slow(func):
    return func
