"""Products of matrices."""
import numpy as np


def dense(x, y, bias, use_bias=False, use_relu=False, out_dtype=None):
    """x times the transpose of y."""
    result = np.dot(x.astype(out_dtype or x.dtype), y.T.astype(out_dtype or y.dtype))
    result = result + bias if use_bias else result
    return np.maximum(result, 0) if use_relu else result


def batch_matmul(x, y, out_dtype=None, trans_x=False, trans_y=True):
    """A product of matrices for each of a batch, or of the only one."""
    x, y = (x.transpose(0, 2, 1) if trans_x else x), (y.transpose(0, 2, 1) if trans_y else y)
    return np.matmul(x.astype(out_dtype or x.dtype), y.astype(out_dtype or y.dtype))
