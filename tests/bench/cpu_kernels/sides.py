"""The processes that are compared, and how they are asked."""

import json
import os
from pathlib import Path
import subprocess
import time

HERE = Path(__file__).resolve().parent


class Process:
    """One side in a process of its own, on given CPUs."""

    def __init__(self, name, command, cpus):
        self.name, self.absent = name, ""
        environment = dict(os.environ)
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[variable] = str(len(cpus))
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment,
                preexec_fn=lambda: os.sched_setaffinity(0, cpus),
            )
        except OSError as error:
            self.process, self.absent = None, str(error)

    def ask(self, **request):
        """The answer; {"absent": why} where there is none."""
        if self.process is None:
            return {"absent": self.absent}
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError as error:
            line, self.absent = "", str(error)
        if line:
            return json.loads(line)
        code = self.process.wait()
        self.process, self.absent = None, f"ended with {code}"
        return {"absent": self.absent}

    def settle(self, patience_s=2):
        """Waits until none of its threads runs: pools spin for a while after a call, on CPUs that the next side needs."""
        end = time.monotonic() + patience_s
        while self.process is not None and time.monotonic() < end:
            states = [self._state(task) for task in Path(f"/proc/{self.process.pid}/task").iterdir()]
            if "R" not in states:
                return
            time.sleep(0.001)

    @staticmethod
    def _state(task):
        try:
            return (task / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:  # It has ended.
            return "X"

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


def commands(bench, peers):
    """What there is to compare with, by name. `peers` is the folder that tests/bench/peers wrote, or None."""
    found = {
        "OpenBLAS": [bench / "side_blas", "libopenblas.so.0"],
        "BLIS": [bench / "side_blas", "libblis.so.4"],
        "oneDNN": [bench / "side_onednn"],
    }
    if peers is not None:
        python = peers / "libs" / "bin" / "python"
        found["ONNX Runtime"] = [python, HERE / "side_onnxruntime.py"]
        found["PyTorch"] = [python, HERE / "side_torch.py"]
        if (peers / "tvm").exists():
            found["MetaSchedule"] = [peers / "tvm" / "bin" / "python", HERE / "side_tvm.py"]
    return {name: [str(word) for word in command] for name, command in found.items()}
