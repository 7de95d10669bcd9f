"""PyTorch, traced and frozen: its oneDNN, MKL and own kernels."""

from pathlib import Path

from side_common import Absent, Side, input_tensors, serve, tensor
import torch
from torch.nn import functional as F


def _kinds(p, w):
    return {
        "gemm": lambda a, b: a @ b,
        "bf16_gemm": lambda a, b: a @ b,
        "conv": lambda x: F.relu(F.conv2d(x, w["w"], w["bias"], p["stride"], p["pad"], p["dilation"], p["groups"])),
        "softmax": lambda x: F.softmax(x, -1),
        "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:], w["scale"], w["shift"], 1e-5),
        "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:], w["scale"], 1e-5),
        "reduce_sum": lambda x: x.sum(p["axis"]),
        "reduce_max": lambda x: x.amax(p["axis"]),
        "max_pool": lambda x: F.max_pool2d(x, p["r"], p["stride"], p["pad"]),
        "avg_pool": lambda x: F.avg_pool2d(x, p["r"], p["stride"], p["pad"], count_include_pad=False),
        "transpose": lambda x: x.permute(p["order"]).contiguous(),
        "add_relu": lambda x, y: F.relu(x + y),
        "bias_gelu": lambda x: F.gelu(x + w["bias"]),
        "attention": F.scaled_dot_product_attention,
        "swiglu": lambda x, y: F.silu(x) * y,
    }


def _tensor(request, value, name):
    is_bfloat16 = request.get("types", {}).get(name) == "bfloat16"
    return torch.from_numpy(value.view("int16")).view(torch.bfloat16) if is_bfloat16 else torch.from_numpy(value)


class Torch(Side):
    def open(self, request):
        torch.set_num_threads(request["threads"])
        kind, params = request["kind"], request["params"]
        if kind == "network":
            return self._open_network(request)
        weights = {name: _tensor(request, tensor(request, name, shape), name) for name, shape in request["constants"].items()}
        compute = _kinds(params, weights).get(kind)
        if compute is None:
            raise Absent("no such operation")
        self.arguments = [_tensor(request, value, name) for name, value in input_tensors(request).items()]
        if kind in ("gemm", "bf16_gemm") and len(self.arguments) == 1:
            self.arguments.append(weights["b"])
        with torch.inference_mode():
            self.compute = torch.jit.freeze(torch.jit.trace(_Module(compute).eval(), tuple(self.arguments)))
        for _ in range(3):
            self.call()

    def _open_network(self, request):
        file = Path(request["params"]["torchscript"])
        if not file.exists():
            raise Absent(f"no file {file}")
        self.arguments = [torch.from_numpy(value) for value in input_tensors(request).values()]
        self.compute = torch.jit.optimize_for_inference(torch.jit.load(file).eval())
        for _ in range(3):
            self.call()

    def call(self):
        with torch.inference_mode():
            return self.compute(*self.arguments)

    def array_of(self, output):
        return output.float().numpy()


class _Module(torch.nn.Module):
    def __init__(self, compute):
        super().__init__()
        self.compute = compute

    def forward(self, *arguments):
        return self.compute(*arguments)


serve(Torch())
