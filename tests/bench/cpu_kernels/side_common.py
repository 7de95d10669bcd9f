"""The Python half of what side.h says: requests and answers are JSON objects, one a line."""

import json
import math
from pathlib import Path
import sys
import time

import numpy


class Side:
    """`open` makes a workload ready or raises Absent; `call` runs it once and returns the output as an array of numpy or
    of what `array_of` makes one."""

    def open(self, request):
        raise NotImplementedError

    def call(self):
        raise NotImplementedError

    def array_of(self, output):
        return numpy.asarray(output)

    inputs = ()  # Arrays of numpy that a cold call does not find cached.


class Absent(Exception):
    """Why a side has no answer."""


def tensor(request, name, shape):
    type = request.get("types", {}).get(name, "float32")  # bfloat16 as the bits of uint16.
    return numpy.fromfile(Path(request["folder"]) / f"{name}.bin", "uint16" if type == "bfloat16" else type).reshape(shape)


def input_tensors(request):
    return {name: tensor(request, name, shape) for name, shape in request["inputs"].items()}


class Evictor:
    """Walks through more than the caches hold, since a library's own copies have no address here."""

    def __init__(self):
        self.walked = numpy.ones(max(_last_level_bytes() * 2, 1 << 26) // 8)

    def __call__(self):
        self.walked += 1


def _last_level_bytes():
    sizes = [1 << 25]
    for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = file.read_text().strip()
        sizes.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]])
    return min(max(sizes), 1 << 29)


def _run(side, request, state):
    call, calls = side.call, request["calls"]
    if not request["cold"]:
        begin = time.perf_counter_ns()
        for _ in range(calls):
            output = call()
        elapsed = time.perf_counter_ns() - begin
    else:
        evict = state.setdefault("evict", Evictor())
        elapsed = 0
        for _ in range(calls):
            evict()
            begin = time.perf_counter_ns()
            output = call()
            elapsed += time.perf_counter_ns() - begin
    state["output"] = output
    return {"ns": elapsed}


def _answer(side, request, state):
    if request["do"] == "run":
        return _run(side, request, state)
    if request["do"] == "output":
        output = numpy.ascontiguousarray(side.array_of(state["output"]), "float32")
        output.tofile(request["file"])
        return {"ok": True, "elements": math.prod(output.shape)}
    side.open(request)
    state["output"] = side.call()
    return {"ok": True}


def serve(side):
    state = {}
    answers = sys.stdout
    sys.stdout = sys.stderr  # Libraries print.
    for line in sys.stdin:
        try:
            answer = _answer(side, json.loads(line), state)
        except Absent as why:
            answer = {"absent": str(why)}
        except Exception as error:  # A side that fails is told, not lost.
            answer = {"absent": f"{type(error).__name__}: {str(error)[-200:]}"}
        print(json.dumps(answer), file=answers, flush=True)
