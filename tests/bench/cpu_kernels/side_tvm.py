"""TVM with MetaSchedule: tunes the workload by as many trials as we have, in a process per workload; what it found stays in the request's
"cache" folder, so that later runs measure the kernel again and do not search again. Weights are given at each call: TVM lays none out."""

from pathlib import Path

import numpy
from side_common import Absent, Side, input_tensors, serve, tensor
import tvm
from tvm import te, topi
from tvm.s_tir import meta_schedule as ms
from tvm.target import codegen


def _gemm(p):
    lead = (p["batch"],) if p["batch"] else ()
    a = te.placeholder((*lead, p["m"], p["k"]), name="a")
    b = te.placeholder((*lead, p["k"], p["n"]), name="b")
    return [a, b], topi.nn.batch_matmul(a, b, transpose_b=False) if lead else topi.nn.matmul(a, b)


def _conv(p):
    c, k, r, groups = p["c"], p["k"], p["r"], p["groups"]
    x = te.placeholder((p["n"], c, p["h"], p["h"]), name="x")
    w = te.placeholder((c, k // c, r, r) if groups == c > 1 else (k, c // groups, r, r), name="w")
    bias = te.placeholder((k,), name="bias")
    how = (p["stride"], p["pad"], p["dilation"])
    if groups == 1:
        y = topi.nn.conv2d_nchw(x, w, *how)
    elif groups == c:
        y = topi.nn.depthwise_conv2d_nchw(x, w, *how)
    else:
        y = topi.nn.group_conv2d_nchw(x, w, *how, groups)
    return [x, w, bias], topi.nn.relu(te.compute(y.shape, lambda n, c, i, j: y[n, c, i, j] + bias[c], name="biased"))


def _rows(compute, *weights):
    def make(p):
        x = te.placeholder(p["shape"], name="x")
        more = [te.placeholder((p["shape"][-1],), name=name) for name in weights]
        return [x, *more], compute(p, x, *more)

    return make


def _pairs(compute):
    def make(p):
        x, y = (te.placeholder(p["shape"], name=name) for name in "xy")
        return [x, y], compute(x, y)

    return make


def _pool(how):
    def compute(p, x):
        return topi.nn.pool2d(x, [p["r"]] * 2, [p["stride"]] * 2, [1, 1], [p["pad"]] * 4, how, count_include_pad=False)

    return _rows(compute)


def _gelu(p, x, bias):
    z = topi.add(x, bias)
    return topi.multiply(topi.multiply(z, topi.add(topi.erf(topi.multiply(z, 0.5**0.5)), 1.0)), 0.5)


KINDS = {
    "gemm": _gemm,
    "conv": _conv,
    "softmax": _rows(lambda p, x: topi.nn.softmax(x, -1)),
    "layer_norm": _rows(lambda p, x, scale, shift: topi.nn.layer_norm(x, scale, shift, [1], 1e-5), "scale", "shift"),
    "rms_norm": _rows(lambda p, x, scale: topi.nn.rms_norm(x, scale, [1], 1e-5), "scale"),
    "reduce_sum": _rows(lambda p, x: topi.sum(x, p["axis"])),
    "reduce_max": _rows(lambda p, x: topi.max(x, p["axis"])),
    "max_pool": _pool("max"),
    "avg_pool": _pool("avg"),
    "transpose": _rows(lambda p, x: topi.transpose(x, p["order"])),
    "add_relu": _pairs(lambda x, y: topi.nn.relu(topi.add(x, y))),
    "swiglu": _pairs(lambda x, y: topi.multiply(topi.multiply(x, topi.sigmoid(x)), y)),
    "bias_gelu": _rows(_gelu, "bias"),
}


class MetaSchedule(Side):
    def open(self, request):
        if request["kind"] not in KINDS:
            raise Absent("no such operation")
        arguments, out = KINDS[request["kind"]](request["params"])
        mod = tvm.IRModule({"main": te.create_prim_func([*arguments, out])})
        target = tvm.target.Target({"kind": "llvm", "mcpu": codegen.llvm_get_system_cpu(), "num-cores": request["threads"]})
        schedule = ms.tir_integration.compile_tir(self._database(mod, target, request), mod, target)
        if schedule is None:
            raise Absent("no valid schedule was found")
        self.function = tvm.compile(schedule.mod, target=target)["main"]
        given = {**input_tensors(request), **{name: tensor(request, name, shape) for name, shape in request["constants"].items()}}
        self.arrays = [tvm.runtime.tensor(given[each.op.name].reshape([int(d) for d in each.shape])) for each in arguments]
        self.output = tvm.runtime.tensor(numpy.zeros([int(d) for d in out.shape], "float32"))

    def _database(self, mod, target, request):
        folder = Path(request["cache"]) / request["name"]
        if not (folder / "done").exists():
            folder.mkdir(parents=True, exist_ok=True)
            trials = request["trials"]
            ms.tune_tir(mod, target, str(folder), trials, num_trials_per_iter=min(trials, 64), num_tuning_cores=request["threads"], seed=request.get("seed", 1))
            (folder / "done").touch()
        return ms.database.JSONDatabase(work_dir=str(folder))

    def call(self):
        self.function(*self.arrays, self.output)
        return self.output

    def array_of(self, output):
        return output.numpy()


serve(MetaSchedule())
