"""What operators compute, by numpy, and how they are scheduled: for programs that check kernels."""
from lathe.topi.testing.convolutions import (conv1d_ncw_python, conv1d_transpose_ncw_python, conv2d_backward_weight_python,
                                             conv2d_hwcn_python, conv2d_nchw_python, conv2d_nhwc_python,
                                             conv2d_transpose_nchw_python, conv2d_transpose_nhwc_python, conv3d_ncdhw_python,
                                             conv3d_ndhwc_python, conv3d_transpose_ncdhw_python, depthwise_conv2d_python_nchw,
                                             depthwise_conv2d_python_nhwc, dilate_python, group_conv1d_ncw_python,
                                             group_conv1d_transpose_ncw_python)
from lathe.topi.testing.images import affine_grid_python, resize1d_python, resize2d_python, resize3d_python
from lathe.topi.testing.norms import (batch_norm, group_norm_python, instance_norm_python, l2_normalize_python,
                                      layer_norm_python, log_softmax_python, lrn_python, rms_norm_python, softmax_python)
from lathe.topi.testing.pools import adaptive_pool, pool_grad_nchw, poolnd_python
from lathe.topi.testing.products import batch_matmul, dense
from lathe.topi.testing.schedules import (dispatch, get_broadcast_schedule, get_conv2d_nchw_implement,
                                          get_conv2d_nhwc_implement, get_elemwise_schedule, get_injective_schedule,
                                          get_reduce_schedule)
from lathe.topi.testing.shapes import (batch_to_space_nd_python, depth_to_space_python, gather_nd_python, gather_python,
                                       matrix_set_diag, nll_loss, one_hot, reorg_python, searchsorted_ref, sequence_mask,
                                       slice_axis_python, space_to_batch_nd_python, space_to_depth_python,
                                       strided_set_python, strided_slice_python)
