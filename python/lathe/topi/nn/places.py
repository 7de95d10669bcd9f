"""The modules of topi.nn that programs import operators from. Some are called as an operator: that is what the name in
the package means."""
import sys
import types

_OPERATORS = {
    "batch_matmul": "batch_matmul", "batch_norm": "batch_norm", "depth_to_space": "depth_to_space", "dilate": "dilate",
    "conv1d": "conv1d conv1d_ncw conv1d_nwc group_conv1d_ncw group_conv1d_nwc",
    "conv1d_transpose": "conv1d_transpose_ncw",
    "conv2d": "conv2d conv2d_nchw conv2d_nhwc conv2d_hwcn conv2d_NCHWc group_conv2d_nchw group_conv2d_nhwc",
    "conv2d_transpose": "conv2d_transpose_nchw group_conv2d_transpose_nchw",
    "conv3d": "conv3d_ncdhw conv3d_ndhwc", "conv3d_transpose": "conv3d_transpose_ncdhw",
    "dense": "dense matmul", "depthwise_conv2d": "depthwise_conv2d_nchw depthwise_conv2d_nhwc",
    "elemwise": "relu leaky_relu prelu", "flatten": "flatten", "group_norm": "group_norm",
    "instance_norm": "instance_norm", "layer_norm": "layer_norm", "local_response_norm": "lrn", "pad": "pad mirror_pad",
    "pooling": "pool1d pool2d pool3d global_pool adaptive_pool adaptive_pool1d adaptive_pool3d", "rms_norm": "rms_norm",
    "softmax": "softmax log_softmax fast_softmax", "space_to_depth": "space_to_depth", "upsampling": "upsampling",
}


def add_modules(package):
    """Makes them importable below the package, which has the operators."""
    for name, operators in _OPERATORS.items():
        module = types.ModuleType(f"{package.__name__}.{name}", f"Operators: {operators}.")
        vars(module).update({operator: getattr(package, operator) for operator in operators.split()})
        sys.modules.setdefault(module.__name__, module)
