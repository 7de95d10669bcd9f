"""Helpers of tests."""
from lathe.testing.compare import (CompareBeforeAfter, assert_allclose, assert_prim_expr_equal, check_bool_expr_is_true,
                                   check_int_constraints_trans_consistency, check_numerical_grads)
from lathe.testing.parametrize import fixture, main, parameter, parameters, parametrize_targets
from lathe.testing.requires import (device_enabled, enabled_targets, exclude_targets, is_ampere_or_newer, known_failing_targets,
                                    requires_aarch64, requires_arm_dot, requires_cuda, requires_cuda_compute_version,
                                    requires_gpu, requires_hexagon, requires_llvm, requires_matrixcore, requires_metal,
                                    requires_nvcc_version, requires_opencl, requires_package, requires_rocm, requires_rpc,
                                    requires_tensorcore, requires_vulkan, requires_x86, skip_if_32bit, skip_if_wheel_test,
                                    slow, uses_gpu)
