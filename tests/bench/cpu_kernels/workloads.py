"""What is measured: rows of numbers, each made into an ONNX model with seeded weights, its operations and its bytes.

Operations are those of the direct algorithm (a multiplication and an addition are two), bytes are each input, weight and output once: what
docs/decisions and the reports call the compulsory work. Tensors are row-major, images N C H W; float32, but in the lists of narrow types.
"""

from dataclasses import dataclass, field, fields, replace
import math
import shutil

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
SIZES = {"float32": 4, "int32": 4, "uint8": 1, "int8": 1, "bfloat16": 2}
ONNX_TYPES = {
    "float32": TensorProto.FLOAT,
    "int32": TensorProto.INT32,
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "bfloat16": TensorProto.BFLOAT16,
}


@dataclass
class Workload:
    """One row. `params` are the numbers that other sides build the same computation from."""

    name: str
    group: str
    kind: str
    params: dict
    inputs: dict  # name -> shape, given at each call
    constants: dict  # name -> shape, known when the model is compiled
    output: tuple
    flops: int
    nodes: list = field(repr=False)
    scalars: dict = field(default_factory=dict, repr=False)  # name -> array, part of the formula
    file: str = ""  # a network of its own, instead of nodes
    weight_elements: int = 0  # in that file
    types: dict = field(default_factory=dict)  # name -> type, of tensors that are not float32; the output is "out"
    roof: str = "float32"  # what of the machine's multiplications bounds it, by the types of the factors
    also: dict = field(default_factory=dict, repr=False)  # name -> shape, of outputs beside "out"

    def type_of(self, name):
        return self.types.get(name, "float32")

    @property
    def bytes(self):
        shapes = {**self.inputs, **self.constants, "out": self.output}
        return 4 * self.weight_elements + sum(math.prod(shape) * SIZES[self.type_of(name)] for name, shape in shapes.items())

    def tensors(self):
        """Inputs and constants by name, the same on every side and in every run. bfloat16 as the bits of uint16."""
        random = numpy.random.default_rng(20)
        return {name: _drawn(random, shape, self.type_of(name)) for name, shape in {**self.inputs, **self.constants}.items()}

    def write(self, folder):
        """model.onnx and one NAME.bin for each tensor."""
        folder.mkdir(parents=True, exist_ok=True)
        tensors = self.tensors()
        for name, value in tensors.items():
            path = folder / f"{name}.bin"
            path.parent.mkdir(parents=True, exist_ok=True)  # Names of networks have slashes.
            value.tofile(path)
        if self.file:
            shutil.copyfile(self.file, folder / "model.onnx")
            return
        weights = [_initializer(tensors[name], name, self.type_of(name)) for name in self.constants]
        weights += [numpy_helper.from_array(value, name) for name, value in self.scalars.items()]
        graph = helper.make_graph(
            self.nodes,
            "workload",
            [helper.make_tensor_value_info(name, ONNX_TYPES[self.type_of(name)], shape) for name, shape in self.inputs.items()],
            [helper.make_tensor_value_info(name, ONNX_TYPES[self.type_of(name)], shape) for name, shape in {"out": self.output, **self.also}.items()],
            weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, folder / "model.onnx")


def _drawn(random, shape, type):
    if type in ("uint8", "int8"):
        return random.integers(*((0, 256) if type == "uint8" else (-128, 128)), shape).astype(type)
    values = random.uniform(-1, 1, shape).astype("float32")
    return values if type == "float32" else (values.view("uint32") >> 16).astype("uint16")


def _initializer(value, name, type):
    if type != "bfloat16":
        return numpy_helper.from_array(value, name)
    return helper.make_tensor(name, TensorProto.BFLOAT16, value.shape, value.tobytes(), raw=True)


def narrow_gemm(name, m, n, k, types, constant=True):
    """uint8 by int8 to int32, or bfloat16 throughout, sums in float32."""
    row = gemm(name, m, n, k, constant)
    row.types = dict(zip(("a", "b", "out"), types))
    row.group += f", {types[0]} by {types[1]}"
    row.kind = "int8_gemm" if types[0] == "uint8" else "bf16_gemm"
    row.roof = "uint8*int8" if types[0] == "uint8" else "bfloat16"
    row.nodes = [helper.make_node("MatMulInteger" if types[0] == "uint8" else "MatMul", ["a", "b"], ["out"])]
    return row


def gemm(name, m, n, k, constant=True, batch=0):
    lead = (batch,) if batch else ()
    b = {"b": (*lead, k, n)}
    return Workload(
        name=name,
        group="gemm" if constant else "gemm, both given",
        kind="gemm",
        params={"m": m, "n": n, "k": k, "batch": batch, "constant": constant},
        inputs={"a": (*lead, m, k), **({} if constant else b)},
        constants=b if constant else {},
        output=(*lead, m, n),
        flops=2 * m * n * k * max(batch, 1),
        nodes=[helper.make_node("MatMul", ["a", "b"], ["out"])],
    )


def conv(name, c, size, k, r, stride, groups=1, dilation=1, n=1, group="conv2d+bias+relu"):
    pad = dilation * (r - 1) // 2
    out = (size + 2 * pad - dilation * (r - 1) - 1) // stride + 1
    attributes = {
        "kernel_shape": [r, r],
        "strides": [stride] * 2,
        "pads": [pad] * 4,
        "dilations": [dilation] * 2,
        "group": groups,
    }
    return Workload(
        name=name,
        group=group,
        kind="conv",
        params={"n": n, "c": c, "h": size, "k": k, "r": r, "stride": stride, "pad": pad, "dilation": dilation, "groups": groups},
        inputs={"x": (n, c, size, size)},
        constants={"w": (k, c // groups, r, r), "bias": (k,)},
        output=(n, k, out, out),
        flops=2 * n * k * (c // groups) * r * r * out * out,
        nodes=[
            helper.make_node("Conv", ["x", "w", "bias"], ["y"], **attributes),
            helper.make_node("Relu", ["y"], ["out"]),
        ],
    )


def block_of(channels, lanes):
    """So many channels stand next to each other where images are in blocks, as ConvertLayout has it; 0: none do."""
    return next((block for block in (lanes, lanes // 2) if block >= 4 and channels % block == 0), 0)


def to_blocks(image, block):
    """[N, C, H, W] as [N, C / block, H, W, block]."""
    n, c, h, w = image.shape
    return numpy.ascontiguousarray(image.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2))


def from_blocks(image):
    n, blocks, h, w, block = image.shape
    return numpy.ascontiguousarray(image.transpose(0, 1, 4, 2, 3)).reshape(n, blocks * block, h, w)


class InBlocks(Workload):
    """A workload whose images lie in blocks of channels, as they do between the layers of a network."""

    in_block = 0  # Channels next to each other in "x"; 0: it is plain.

    def __init__(self, plain):
        super().__init__(**{each.name: getattr(plain, each.name) for each in fields(plain)})
        self.plain = plain

    def tensors(self):
        values = self.plain.tensors()
        return {**values, "x": to_blocks(values["x"], self.in_block)} if self.in_block else values


class ConvInBlocks(InBlocks):
    def __init__(self, plain, lanes):
        super().__init__(plain)
        (n, c, h, w), (_, k, rows, columns) = plain.inputs["x"], plain.output
        groups = plain.params["groups"] if plain.params["groups"] < c else 1
        self.out_block = block_of(k // groups, lanes)
        self.in_block = block_of(c // groups, lanes) if self.out_block else 0
        before, after = [], []
        rename = {}
        if self.in_block:
            self.inputs = {"x": (n, c // self.in_block, h, w, self.in_block)}
            self.scalars = {"image": numpy.array([n, c, h, w])}
            before = [
                helper.make_node("Transpose", ["x"], ["x_moved"], perm=[0, 1, 4, 2, 3]),
                helper.make_node("Reshape", ["x_moved", "image"], ["x_plain"]),
            ]
            rename["x"] = "x_plain"
        if self.out_block:
            self.output = (n, k // self.out_block, rows, columns, self.out_block)
            self.scalars = {**self.scalars, "blocks": numpy.array([n, k // self.out_block, self.out_block, rows, columns])}
            after = [
                helper.make_node("Reshape", ["out_plain", "blocks"], ["out_split"]),
                helper.make_node("Transpose", ["out_split"], ["out"], perm=[0, 1, 3, 4, 2]),
            ]
            rename["out"] = "out_plain"
        self.nodes = before + [_renamed(node, rename) for node in plain.nodes] + after


class PoolInBlocks(InBlocks):
    """Its window goes through rows, columns and one channel of a block: a pool of three dimensions, in ONNX's words."""

    def __init__(self, plain, lanes):
        super().__init__(plain)
        (n, c, h, w), (_, _, rows, columns), (node,) = plain.inputs["x"], plain.output, plain.nodes
        self.in_block = block_of(c, lanes)
        if not self.in_block:
            return
        self.inputs = {"x": (n, c // self.in_block, h, w, self.in_block)}
        self.output = (n, c // self.in_block, rows, columns, self.in_block)
        r, stride, pad = (plain.params[name] for name in ("r", "stride", "pad"))
        attributes = {"kernel_shape": [r, r, 1], "strides": [stride, stride, 1], "pads": [pad, pad, 0] * 2}
        self.nodes = [helper.make_node(node.op_type, ["x"], ["out"], **attributes)]


IN_BLOCKS = {"conv": ConvInBlocks, "max_pool": PoolInBlocks, "avg_pool": PoolInBlocks}  # By kind.


def _renamed(node, names):
    copy = type(node)()
    copy.CopyFrom(node)
    for tensors in (copy.input, copy.output):
        for i, name in enumerate(tensors):
            tensors[i] = names.get(name, name)
    return copy


def depthwise(name, c, size, r, stride):
    return conv(name, c, size, c, r, stride, groups=c, group="depthwise+bias+relu")


def rows(name, kind, shape, nodes, constants=(), inputs=("x",), output=None, flops=0, scalars=None, **params):
    return Workload(
        name=name,
        group=kind,
        kind=kind,
        params={"shape": list(shape), **params},
        inputs={each: shape for each in inputs},
        constants={each: (shape[-1],) for each in constants},
        output=shape if output is None else output,
        flops=flops,
        nodes=nodes,
        scalars=scalars or {},
    )


def softmax(name, m, n):
    return rows(name, "softmax", (m, n), [helper.make_node("Softmax", ["x"], ["out"], axis=-1)])


def layer_norm(name, m, n):
    node = helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["out"], axis=-1, epsilon=1e-5)
    return rows(name, "layer_norm", (m, n), [node], constants=("scale", "shift"))


def rms_norm(name, m, n):
    nodes = [
        helper.make_node("Mul", ["x", "x"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["mean"], axes=[-1], keepdims=1),
        helper.make_node("Add", ["mean", "epsilon"], ["more"]),
        helper.make_node("Sqrt", ["more"], ["root"]),
        helper.make_node("Div", ["x", "root"], ["normed"]),
        helper.make_node("Mul", ["normed", "scale"], ["out"]),
    ]
    return rows(name, "rms_norm", (m, n), nodes, constants=("scale",), scalars={"epsilon": numpy.float32(1e-5)})


def reduction(name, how, m, n, axis):
    axes = {"axes": numpy.array([axis], "int64")}
    node = helper.make_node("ReduceSum", ["x", "axes"], ["out"], keepdims=0)
    if how == "max":
        axes, node = {}, helper.make_node("ReduceMax", ["x"], ["out"], axes=[axis], keepdims=0)
    return rows(name, f"reduce_{how}", (m, n), [node], output=(n if axis == 0 else m,), scalars=axes, axis=axis)


def pool(name, how, c, size, r, stride):
    pad = r // 2
    out = (size + 2 * pad - r) // stride + 1
    attributes = {"kernel_shape": [r, r], "strides": [stride] * 2, "pads": [pad] * 4}
    op = "MaxPool" if how == "max" else "AveragePool"
    node = helper.make_node(op, ["x"], ["out"], **attributes)
    return rows(name, f"{how}_pool", (1, c, size, size), [node], output=(1, c, out, out), r=r, stride=stride, pad=pad)


def transpose(name, shape, order):
    node = helper.make_node("Transpose", ["x"], ["out"], perm=order)
    return rows(name, "transpose", shape, [node], output=tuple(shape[i] for i in order), order=list(order))


def add_relu(name, shape):
    nodes = [helper.make_node("Add", ["x", "y"], ["sum"]), helper.make_node("Relu", ["sum"], ["out"])]
    return rows(name, "add_relu", shape, nodes, inputs=("x", "y"))


def bias_gelu(name, m, n):
    nodes = [
        helper.make_node("Add", ["x", "bias"], ["z"]),
        helper.make_node("Mul", ["z", "root"], ["scaled"]),
        helper.make_node("Erf", ["scaled"], ["erf"]),
        helper.make_node("Add", ["erf", "one"], ["gate"]),
        helper.make_node("Mul", ["z", "gate"], ["twice"]),
        helper.make_node("Mul", ["twice", "half"], ["out"]),
    ]
    scalars = {"root": numpy.float32(math.sqrt(0.5)), "one": numpy.float32(1), "half": numpy.float32(0.5)}
    return rows(name, "bias_gelu", (m, n), nodes, constants=("bias",), scalars=scalars)


def swiglu(name, m, n):
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["gate"]),
        helper.make_node("Mul", ["x", "gate"], ["silu"]),
        helper.make_node("Mul", ["silu", "y"], ["out"]),
    ]
    return rows(name, "swiglu", (m, n), nodes, inputs=("x", "y"))


def attention(name, heads, length, depth):
    """softmax(Q K^T / sqrt(depth)) V of one sequence."""
    nodes = [
        helper.make_node("Transpose", ["k"], ["k_turned"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "k_turned"], ["products"]),
        helper.make_node("Mul", ["products", "scale"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "v"], ["out"]),
    ]
    shape, scalars = (heads, length, depth), {"scale": numpy.float32(depth**-0.5)}
    return rows(name, "attention", shape, nodes, inputs=("q", "k", "v"), flops=4 * heads * length * length * depth, scalars=scalars)


def attention_in_kernels(plain):
    """The same, and one number of the scores, which somebody else wants: so its kernels are not fused."""
    heads = plain.params["shape"][0]
    nodes = [*plain.nodes, helper.make_node("Slice", ["scores", "from", "to", "axes"], ["first"])]
    scalars = {**plain.scalars, "from": numpy.array([0, 0]), "to": numpy.array([1, 1]), "axes": numpy.array([1, 2])}
    return replace(plain, nodes=nodes, scalars=scalars, also={"first": (heads, 1, 1)})


IN_KERNELS = {"attention": attention_in_kernels}  # By kind.


def _shape_of(value):
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)


def _products_of(graph, shapes):
    """Operations of convolutions and matrix products, which are nearly all of a network."""
    flops = 0
    for node in graph.node:
        if node.op_type == "Conv":
            flops += 2 * math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
        elif node.op_type in ("Gemm", "MatMul"):
            flops += 2 * math.prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]
    return flops


def network(file):
    """A whole model of float32 inputs whose extents are numbers. PyTorch runs FILE.pt, where that is beside it."""
    graph = onnx.shape_inference.infer_shapes(onnx.load(file)).graph
    weights = {each.name: tuple(each.dims) for each in graph.initializer}
    shapes = {each.name: _shape_of(each) for each in [*graph.value_info, *graph.input, *graph.output]} | weights
    return Workload(
        name=file.stem,
        group="network",
        kind="network",
        params={"torchscript": str(file.with_suffix(".pt"))},
        inputs={each.name: shapes[each.name] for each in graph.input if each.name not in weights},
        constants={},
        output=shapes[graph.output[0].name],
        flops=_products_of(graph, shapes),
        nodes=[],
        file=str(file),
        weight_elements=sum(map(math.prod, weights.values())),
    )


# (C, H = W, K, R, stride) of ResNet-50.
RESNET50 = [
    (3, 224, 64, 7, 2), (64, 56, 64, 1, 1), (64, 56, 64, 3, 1), (64, 56, 256, 1, 1), (256, 56, 64, 1, 1), (256, 56, 128, 1, 1),
    (128, 56, 128, 3, 2), (128, 28, 128, 3, 1), (128, 28, 512, 1, 1), (512, 28, 128, 1, 1), (256, 56, 512, 1, 2), (256, 28, 256, 3, 2),
    (256, 14, 256, 3, 1), (256, 14, 1024, 1, 1), (1024, 14, 256, 1, 1), (512, 28, 1024, 1, 2), (512, 14, 512, 3, 2), (512, 7, 512, 3, 1),
    (512, 7, 2048, 1, 1), (2048, 7, 512, 1, 1), (1024, 14, 2048, 1, 2),
]  # fmt: skip
# (C, H = W, R, stride) of MobileNets and EfficientNets.
DEPTHWISE = [
    (32, 112, 3, 1), (96, 112, 3, 2), (144, 56, 3, 1), (144, 56, 3, 2), (192, 28, 3, 1), (192, 28, 3, 2), (384, 14, 3, 1), (576, 14, 3, 1),
    (576, 14, 3, 2), (960, 7, 3, 1), (240, 28, 5, 1), (672, 14, 5, 1), (1152, 7, 5, 1), (96, 56, 7, 1),
]  # fmt: skip
CUBES = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048]
# (M, N, K): BERT, ViT, products of one and few rows, long and flat ones, odd ones.
PRODUCTS = [
    (128, 768, 768), (128, 3072, 768), (128, 768, 3072), (384, 1024, 1024), (197, 768, 768), (1, 4096, 4096), (4, 4096, 4096), (16, 4096, 4096),
    (8192, 64, 64), (64, 8192, 512), (49, 512, 4608), (127, 769, 255), (1000, 1000, 1000), (999, 333, 77),
]  # fmt: skip
BATCHED = [(12, 128, 128, 64), (12, 128, 64, 128), (64, 32, 32, 32), (256, 16, 16, 16)]
SOFTMAX = [(1536, 128), (6144, 384), (1024, 1000), (1, 1000), (128, 32768)]
ATTENTION = [(12, 128, 64), (16, 384, 64), (12, 512, 64)]
NORMS = [(128, 768), (512, 1024), (4096, 4096)]


def _gemm_rows():
    for size in CUBES:
        yield gemm(f"gemm_{size}", size, size, size)
    for m, n, k in PRODUCTS:
        yield gemm(f"gemm_{m}x{n}x{k}", m, n, k)


def _given_rows():
    for size in CUBES[:-1]:
        yield gemm(f"gemm2_{size}", size, size, size, constant=False)
    for m, n, k in PRODUCTS:
        yield gemm(f"gemm2_{m}x{n}x{k}", m, n, k, constant=False)
    for batch, m, n, k in BATCHED:
        yield gemm(f"bmm_{batch}x{m}x{n}x{k}", m, n, k, constant=False, batch=batch)


def _narrow_rows(prefix, types):
    for size in (128, 512, 1024, 2048):
        yield narrow_gemm(f"{prefix}_{size}", size, size, size, types)
    for m, n, k in [(128, 768, 768), (128, 3072, 768), (1, 4096, 4096), (8192, 64, 64)]:
        yield narrow_gemm(f"{prefix}_{m}x{n}x{k}", m, n, k, types)
    for size in (512, 1024):
        yield narrow_gemm(f"{prefix}2_{size}", size, size, size, types, constant=False)


def _conv_rows():
    for row in RESNET50:
        yield conv("conv_" + "_".join(map(str, row)), *row)
    yield conv("conv_dilated", 512, 28, 512, 3, 1, dilation=2)
    yield conv("conv_grouped", 128, 56, 128, 3, 1, groups=32)


def _row_rows():
    yield from (softmax(f"softmax_{m}x{n}", m, n) for m, n in SOFTMAX)
    yield from (layer_norm(f"layer_norm_{m}x{n}", m, n) for m, n in NORMS)
    yield from (rms_norm(f"rms_norm_{m}x{n}", m, n) for m, n in NORMS)
    for how in ("sum", "max"):
        yield from (reduction(f"{how}_{m}x{n}_axis{axis}", how, m, n, axis) for m, n, axis in [(1024, 1024, 0), (1024, 1024, 1), (64, 1 << 20, 1)])


def _memory_rows():
    yield from (pool(f"{how}_pool_64_112", how, 64, 112, 3, 2) for how in ("max", "avg"))
    yield transpose("transpose_2048", (2048, 2048), (1, 0))
    yield transpose("transpose_heads", (12, 128, 64), (1, 0, 2))
    yield add_relu("add_relu_256_56", (1, 256, 56, 56))
    yield bias_gelu("bias_gelu_128x3072", 128, 3072)
    yield swiglu("swiglu_512x14336", 512, 14336)


def _attention_rows():
    yield from (attention(f"attention_{heads}x{length}x{depth}", heads, length, depth) for heads, length, depth in ATTENTION)


LISTS = {
    "gemm": _gemm_rows,
    "gemm2": _given_rows,
    "conv": _conv_rows,
    "depthwise": lambda: (depthwise("dw_" + "_".join(map(str, row)), *row) for row in DEPTHWISE),
    "rows": _row_rows,
    "memory": _memory_rows,
    "attention": _attention_rows,
    "int8": lambda: _narrow_rows("int8", ("uint8", "int8", "int32")),
    "bf16": lambda: _narrow_rows("bf16", ("bfloat16", "bfloat16", "bfloat16")),
}


def limit_ns(workload, roofs):
    """The shortest time that the machine's measured roofs allow, and which roof it is."""
    rate = roofs["gflops"] if workload.roof == "float32" else roofs["narrow"].get(workload.roof, roofs["gflops"])
    compute = workload.flops / rate if workload.flops else 0
    level = next((each for each in roofs["copy"] if workload.bytes <= 2 * each["bytes"]), roofs["copy"][-1])
    moved = workload.bytes / level["gb_per_s"]
    return (compute, "multiply-add") if compute >= moved else (moved, level["level"])


def select(lists, pattern):
    import fnmatch

    chosen = [workload for name in lists for workload in LISTS[name]()]
    return [each for each in chosen if fnmatch.fnmatch(each.name, pattern)]
