"""What pytest does for tests that take `target` and `dev`: in a conftest, pytest_plugins = ["tvm.testing.plugin"].
TVM_TEST_TARGETS names the targets, with ";" between them; without it, they are those that kernels run for here."""
import os

import pytest

from lathe.testing.parametrize import case_of_target
from lathe.testing.requires import enabled_targets

_MARKS = ("gpu: uses a GPU", "tensorcore: needs tensor cores", "llvm: needs LLVM", "cuda: needs CUDA", "rocm: needs ROCm",
          "opencl: needs OpenCL", "vulkan: needs Vulkan", "metal: needs Metal", "hexagon: needs Hexagon")


def pytest_configure(config):
    for mark in _MARKS:
        config.addinivalue_line("markers", mark)


def pytest_generate_tests(metafunc):
    """A test whose targets nobody says runs for all."""
    said = [name for mark in metafunc.definition.iter_markers("parametrize") for name in _names(mark.args[0])]
    if "target" in metafunc.fixturenames and "target" not in [*said, *metafunc._arg2fixturedefs]:
        metafunc.parametrize("target", [case_of_target(target, target) for target in _targets()], scope="session")


def _names(argnames):
    return [name.strip() for name in argnames.split(",")] if isinstance(argnames, str) else argnames


def _targets():
    named = [target.strip() for target in os.environ.get("TVM_TEST_TARGETS", "").split(";") if target.strip()]
    return named or [target for target, _ in enabled_targets()]


@pytest.fixture
def dev(target):
    """The first device of the target's kind."""
    from lathe.runtime.ndarray import device
    return device(str(target))
