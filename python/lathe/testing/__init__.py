"""Helpers of tests."""
from lathe.testing.compare import (CompareBeforeAfter, assert_allclose, assert_prim_expr_equal, check_bool_expr_is_true,
                                   check_int_constraints_trans_consistency, check_numerical_grads)
from lathe.testing.parametrize import (fixture, main, parameter, parameters, parametrize_targets, skip_parameterizations,
                                       xfail_parameterizations)
from lathe.testing.requires import (device_enabled, enabled_targets, exclude_targets, is_ampere_or_newer, known_failing_targets,
                                    requires_aarch64, requires_aarch64_sme, requires_aarch64_sve, requires_arm_dot,
                                    requires_cublas, requires_cuda, requires_cuda_compute_version, requires_cudagraph,
                                    requires_cudnn, requires_cutlass, requires_gpu, requires_hexagon, requires_hipblas,
                                    requires_llvm, requires_llvm_minimum_version,
                                    requires_matrixcore, requires_metal, requires_nvcc_version, requires_nvptx, requires_opencl,
                                    requires_package, requires_rocblas, requires_rocm, requires_rpc, requires_tensorcore,
                                    requires_vulkan, requires_x86, requires_x86_amx, requires_x86_avx512, requires_x86_vnni,
                                    skip_if_32bit, skip_if_wheel_test, slow, uses_gpu)
from lathe.testing.utils import identity_after, strtobool, terminate_self
