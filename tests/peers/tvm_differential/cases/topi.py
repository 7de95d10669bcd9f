"""What functions topi's operators make: names of blocks and buffers, annotations, values."""
from tvm import te, tir, topi

nn = topi.nn


def P(*shape, name="X", dtype="float32"):
    return te.placeholder(shape, name=name, dtype=dtype)


def image():
    return P(1, 8, 14, 14, name="A")


CASES = {
    "conv2d_nchw": lambda: (image(), P(16, 8, 3, 3, name="W"), lambda a, w: nn.conv2d_nchw(a, w, 1, 1, 1)),
    "conv2d_nhwc": lambda: (P(1, 14, 14, 8), P(3, 3, 8, 16, name="W"), lambda a, w: nn.conv2d(a, w, 2, 1, 1, "NHWC")),
    "group_conv2d": lambda: (image(), P(16, 4, 3, 3, name="W"), lambda a, w: nn.group_conv2d_nchw(a, w, 1, 1, 1, 2)),
    "depthwise_nchw": lambda: (image(), P(8, 1, 3, 3, name="W"), lambda a, w: nn.depthwise_conv2d_nchw(a, w, 1, 1, 1)),
    "conv2d_transpose": lambda: (image(), P(8, 16, 3, 3, name="W"), lambda a, w: nn.conv2d_transpose_nchw(
        a, w, (2, 2), (1, 1), "float32", (0, 0))),
    "matmul": lambda: (P(4, 8), P(8, 16, name="Y"), topi.matmul),
    "dense": lambda: (P(4, 8), P(16, 8, name="W"), nn.dense),
    "dense_with_bias": lambda: (P(4, 8), P(16, 8, name="W"), P(16, name="b"), nn.dense),
    "batch_matmul": lambda: (P(2, 4, 8), P(2, 16, 8, name="W"), nn.batch_matmul),
    "max_pool": lambda: (image(), lambda a: nn.pool2d(a, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "max")),
    "avg_pool": lambda: (image(), lambda a: nn.pool2d(a, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg",
                                                      count_include_pad=False)),
    "avg_pool_with_pad": lambda: (image(), lambda a: nn.pool2d(a, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "avg")),
    "max_pool_ceil": lambda: (image(), lambda a: nn.pool2d(a, (3, 3), (2, 2), (1, 1), (0, 0, 0, 0), "max", True)),
    "pool1d": lambda: (P(1, 8, 14), lambda a: nn.pool1d(a, [3], [2], [1], [1, 1], "max")),
    "global_pool": lambda: (image(), lambda a: nn.global_pool(a, "avg")),
    "adaptive_avg": lambda: (image(), lambda a: nn.adaptive_pool(a, (3, 3), "avg")),
    "adaptive_max": lambda: (image(), lambda a: nn.adaptive_pool(a, (3, 3), "max")),
    "softmax": lambda: (P(4, 8), nn.softmax),
    "log_softmax": lambda: (P(4, 8), nn.log_softmax),
    "batch_norm": lambda: (image(), P(8, name="g"), P(8, name="b"), P(8, name="m"), P(8, name="v"), nn.batch_norm),
    "layer_norm": lambda: (P(4, 8), P(8, name="g"), P(8, name="b"), lambda x, g, b: nn.layer_norm(x, g, b, [1])),
    "group_norm": lambda: (image(), P(8, name="g"), P(8, name="b"), lambda x, g, b: nn.group_norm(x, g, b, 2, 1, [2, 3])),
    "instance_norm": lambda: (image(), P(8, name="g"), P(8, name="b"),
                              lambda x, g, b: nn.instance_norm(x, g, b, 1, [2, 3])),
    "rms_norm": lambda: (P(4, 8), P(8, name="w"), lambda x, w: nn.rms_norm(x, w, [1])),
    "lrn": lambda: (image(), lambda a: nn.lrn(a, 5)),
    "relu": lambda: (P(4, 8), nn.relu),
    "leaky_relu": lambda: (P(4, 8), lambda x: nn.leaky_relu(x, 0.5)),
    "prelu": lambda: (image(), P(8, name="s"), nn.prelu),
    "pad": lambda: (P(4, 8), lambda x: nn.pad(x, (1, 0), (1, 2))),
    "mirror_pad": lambda: (P(4, 8), lambda x: nn.mirror_pad(x, (1, 1), (1, 1))),
    "dilate": lambda: (P(4, 8), lambda x: nn.dilate(x, (1, 2))),
    "flatten": lambda: (image(), nn.flatten),
    "add": lambda: (P(4, 8), P(8, name="b"), topi.add),
    "add_number": lambda: (P(4, 8), lambda x: topi.add(x, 1.0)),
    "power": lambda: (P(4, 8), lambda x: topi.power(x, 2.0)),
    "equal": lambda: (P(4, 8), P(4, 8, name="y"), topi.equal),
    "mod": lambda: (P(4, 8, dtype="int32"), P(4, 8, name="y", dtype="int32"), topi.mod),
    "left_shift": lambda: (P(4, dtype="int32"), lambda x: topi.left_shift(x, 2)),
    "where": lambda: (P(4, 8, name="c", dtype="bool"), P(4, 8, name="x"), P(8, name="y"), topi.where),
    "broadcast_to": lambda: (P(1, 8), lambda x: topi.broadcast_to(x, (4, 8))),
    "exp": lambda: (P(4, 8), topi.exp),
    "sign": lambda: (P(4, 8), topi.sign),
    "negative": lambda: (P(4, 8), topi.negative),
    "cast": lambda: (P(4, 8), lambda x: topi.cast(x, "int32")),
    "clip": lambda: (P(4, 8), lambda x: topi.clip(x, 0.0, 6.0)),
    "full_like": lambda: (P(4, 8), lambda x: topi.full_like(x, 3.0)),
    "arange": lambda: (lambda: topi.arange(0, 10, 2, "int32"),),
    "elemwise_sum": lambda: (P(3, 4), P(3, 4, name="y"), lambda x, y: topi.elemwise_sum([x, y])),
    "sum": lambda: (P(4, 8), lambda x: topi.sum(x, axis=1, keepdims=True)),
    "prod": lambda: (P(4, 8), lambda x: topi.prod(x, axis=[0, 1])),
    "max": lambda: (P(4, 8), lambda x: topi.max(x, axis=0)),
    "all": lambda: (P(4, 8, dtype="bool"), lambda x: topi.all(x, axis=1)),
    "argmax": lambda: (P(4, 8), lambda x: topi.argmax(x, axis=1)),
    "argmin": lambda: (P(4, 8), lambda x: topi.argmin(x, axis=1, keepdims=True)),
    "reshape": lambda: (P(4, 8), lambda x: topi.reshape(x, (2, 16))),
    "transpose": lambda: (P(4, 8), lambda x: topi.transpose(x, (1, 0))),
    "expand_dims": lambda: (P(4, 8), lambda x: topi.expand_dims(x, 1, 2)),
    "squeeze": lambda: (P(4, 1, 8), lambda x: topi.squeeze(x, [1])),
    "concatenate": lambda: (P(4, 8), P(4, 8, name="y"), lambda x, y: topi.concatenate([x, y], axis=1)),
    "stack": lambda: (P(4, 8), P(4, 8, name="y"), lambda x, y: topi.stack([x, y], 1)),
    "split": lambda: (P(4, 8), lambda x: topi.split(x, 2, axis=1)),
    "strided_slice": lambda: (P(4, 8), lambda x: topi.strided_slice(x, [0, 1], [4, 8], [1, 2])),
    "take": lambda: (P(4, 8), P(3, name="i", dtype="int32"), lambda x, i: topi.take(x, i, axis=0, mode="clip")),
    "gather": lambda: (P(4, 8), P(4, 3, name="i", dtype="int32"), lambda x, i: topi.gather(x, 1, i)),
    "gather_nd": lambda: (P(4, 8), P(2, 3, name="i", dtype="int32"), topi.gather_nd),
    "repeat": lambda: (P(4, 8), lambda x: topi.repeat(x, 2, 1)),
    "flip": lambda: (P(4, 8), lambda x: topi.flip(x, 1)),
    "one_hot": lambda: (P(4, dtype="int32"), lambda i: topi.one_hot(i, tir.const(1.0), tir.const(0.0), 10, -1, "float32")),
    "trilu": lambda: (P(4, 8), lambda x: topi.trilu(x, tir.const(0), True)),
}


def _case(make):
    def case():
        *inputs, operator = make()
        results = operator(*inputs)
        results = results if isinstance(results, (list, tuple)) else [results]
        return te.create_prim_func(inputs + list(results))

    return case


for _name, _make in CASES.items():
    globals()["case_" + _name] = _case(_make)
