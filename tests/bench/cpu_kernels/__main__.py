"""Measures what this machine can do at most, then Lathe's kernels and those of others beside them. README.md says how to read it.

    tests/bench/peers ~/peers                                    # once: ONNX Runtime and PyTorch in an environment of their own
    /usr/bin/python3 tests/bench/cpu_kernels --peers ~/peers     # everything; --lists gemm,conv, --only 'conv_64*' for a part
"""

import argparse
from datetime import date
import json
import os
from pathlib import Path
import subprocess
import sys

from lathe_builds import Lathe
import measure
import numpy
import report
import sides
import workloads

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def options():
    parser = argparse.ArgumentParser(prog="cpu_kernels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release", help="where bin/ and bench/ are")
    parser.add_argument("--peers", type=Path, help="the folder that tests/bench/peers wrote")
    parser.add_argument("--tvm-cache", type=Path, help="what MetaSchedule found, by CPU model and trials; without it TVM is left out")
    parser.add_argument("--lists", default=",".join(workloads.LISTS), help="of " + ", ".join(workloads.LISTS))
    parser.add_argument("--only", default="*", help="workloads whose names fit this pattern")
    parser.add_argument("--network", type=Path, action="append", default=[], help="a whole MODEL.onnx, instead of the lists")
    parser.add_argument("--trials", type=int, default=64, help="per task; 0: untuned alone")
    parser.add_argument("--seed", type=int, default=1, help="of the searches, ours and MetaSchedule's")
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--cpus", default="0", help="one thread each: 0 or 0,1")
    parser.add_argument("--winograd", action="store_true", help="of networks, also what Winograd's algorithm gives")
    parser.add_argument("--cold", action="store_true", help="inputs and outputs out of the caches before each call")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "cpu_kernels", help="results, models, database")
    return parser.parse_args()


def cpu_model():
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown CPU")


def machine_of(given, roofs):
    version = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True).stdout
    return {
        "cpu": cpu_model(),
        "threads": len(given.cpus.split(",")),
        "date": date.today().isoformat(),
        "version": version.strip(),
        "blocks": given.blocks,
        "cache": "cold" if given.cold else "warm",
        "roofs": roofs,
    }


def expert_of(name, lanes):
    """Where schedules of the workload stand for vectors of so many float32, if there are any."""
    return HERE / "experts" / {16: "avx512", 8: "avx2"}.get(lanes, "none") / f"{name}.py"


class Comparison:
    def __init__(self, given):
        self.given = given
        self.cpus = [int(cpu) for cpu in given.cpus.split(",")]
        self.lathe = Lathe(given.build / "bin", given.out / "tuned.db", self.cpus, given.trials, given.seed)
        self.peers = sides.commands(given.build / "bench", given.peers)
        found_by = f"{cpu_model()}, {len(self.cpus)} threads, {given.trials} trials" + (f", seed {given.seed}" if given.seed != 1 else "")
        self.tvm_cache = (given.tvm_cache or given.out) / found_by
        if given.tvm_cache is None:
            self.peers.pop("MetaSchedule", None)

    def side(self, name, command):
        return sides.Process(name, command, self.cpus)

    def ours(self, name):
        return self.side(name, [str(self.given.build / "bench" / "side_lathe")])

    def roofs(self):
        side = self.ours("roofs")
        roofs = side.ask(do="roofs")
        side.close()
        if "absent" in roofs:
            sys.exit(f"cpu_kernels: {self.given.build}/bench/side_lathe: {roofs['absent']}; build target side_lathe with LATHE_UNIT_TESTS=ON")
        roofs["gflops"] *= len(self.cpus)
        roofs["lanes"] = max(each["bits"] for each in roofs["compute"] if each["types"] == "float32" and each["gops"]) // 32
        roofs["narrow"] = {}
        for each in roofs["compute"]:
            roofs["narrow"][each["types"]] = max(roofs["narrow"].get(each["types"], 0), (each["gops"] or 0) * len(self.cpus))
        roofs["narrow"] = {types: rate for types, rate in roofs["narrow"].items() if rate}
        for each in roofs["copy"]:
            each["gb_per_s"] *= len(self.cpus) if each["level"] in ("L1", "L2") else 1
        return roofs

    def artifacts(self, row, workload, model, folder, expert):
        """Of Lathe, by name; what went wrong is noted in the row."""
        found = {}
        try:
            found["Lathe untuned"] = self.lathe.untuned(model, folder)
            if expert.exists():
                found[report.EXPERT] = self.lathe.by_expert(model, folder, expert)
            if self.given.trials:
                found["Lathe tuned"], tuned, row["tuning_s"] = self.lathe.tuned(model, folder)
                row["trials"] = tuned["trials_measured"]
                if self.given.winograd:
                    found["Lathe by Winograd"], _, row["winograd_tuning_s"] = self.lathe.tuned(model, folder, "winograd", ["--winograd"])
            found |= self.unfused(workload, folder)
        except RuntimeError as error:
            row["why"] = str(error)
        return found

    def unfused(self, workload, folder):
        """The same work in kernels of its operators, tuned as the fused one is; by name, nothing where nothing fuses so."""
        if workload.kind not in workloads.IN_KERNELS:
            return {}
        folder = folder / "in_kernels"
        workloads.IN_KERNELS[workload.kind](workload).write(folder)
        model = folder / "model.onnx"
        return {report.UNFUSED: self.lathe.tuned(model, folder)[0] if self.given.trials else self.lathe.untuned(model, folder)}

    def open_sides(self, workload, folder, artifacts, row):
        common = {
            "do": "open",
            "name": workload.name,
            "kind": workload.kind,
            "params": workload.params,
            "inputs": workload.inputs,
            "constants": workload.constants,
            "types": workload.types,
            "folder": str(folder),
            "model": str(folder / "model.onnx"),
            "threads": len(self.cpus),
            "trials": self.given.trials,
            "seed": self.given.seed,
            "cache": str(self.tvm_cache),
        }
        opened = {}
        for name, artifact in artifacts.items():
            opened[name] = (self.ours(name), {**common, "artifact": str(artifact), "folder": str(artifact.parent)})
        for name, command in self.peers.items():
            opened[name] = (self.side(name, command), common)
        ready = {}
        for name, (side, request) in opened.items():
            answer = side.ask(**request)
            if "ok" in answer:
                ready[name] = side
            else:
                row["sides"][name] = answer
                side.close()
        return ready

    def check(self, workload, ours, ready, folder, row):
        """All compute the same: each against the median of all, as far as sums in another order may lead."""
        outputs = {}
        for name, side in ready.items():
            side.ask(do="run", calls=1, cold=False)
            file = folder / "output.bin"
            if "ok" in side.ask(do="output", file=str(file)):
                outputs[name] = numpy.fromfile(file, "float32")
                if name in report.OURS and len(ours.output) > len(workload.output):
                    outputs[name] = workloads.from_blocks(outputs[name].reshape(ours.output)).ravel()
        size = max(map(len, outputs.values()), default=0)
        alike = [value for value in outputs.values() if len(value) == size]
        middle = numpy.median(numpy.stack(alike), axis=0) if alike else numpy.zeros(0)
        scale = float(numpy.abs(middle).max(initial=0)) or 1.0
        for name, value in outputs.items():
            error = float(numpy.abs(value - middle).max(initial=0)) / scale if len(value) == size else float("inf")
            if not error < (1e-2 if workload.type_of("out") == "bfloat16" else 1e-3):
                row["sides"].setdefault(name, {})["wrong"] = f"off by {error:.2g} of the largest value"

    def row(self, workload, roofs):
        folder = self.given.out / "models" / workload.name
        workload.write(folder)
        limit, roof = workloads.limit_ns(workload, roofs)
        row = {"name": workload.name, "group": workload.group, "flops": workload.flops, "bytes": workload.bytes, "limit_ns": limit, "roof": roof, "sides": {}}
        ours, our_folder = workload, folder
        if workload.kind in workloads.IN_BLOCKS:  # We get images as between the layers of a network.
            ours, our_folder = workloads.IN_BLOCKS[workload.kind](workload, roofs["lanes"]), folder / "in_blocks"
            ours.write(our_folder)
        artifacts = self.artifacts(row, workload, our_folder / "model.onnx", our_folder, expert_of(workload.name, roofs["lanes"]))
        ready = self.open_sides(workload, folder, artifacts, row)
        self.check(workload, ours, ready, folder, row)
        for name, samples in measure.interleaved(ready, self.given.blocks, self.given.cold).items():
            if samples:
                row["sides"].setdefault(name, {}).update(measure.summary(samples), samples_ns=[round(each, 1) for each in samples])
            ready[name].close()
        return row


def line_of(row):
    tuned, best = row["sides"].get("Lathe tuned") or row["sides"].get("Lathe untuned", {}), report.best_peer(row)
    if "median_ns" not in tuned:
        return f"{row['name']}: {row.get('why', 'no time')}"
    share = 100 * row["limit_ns"] / tuned["median_ns"]
    ratio = f", {best[1] / tuned['median_ns']:.2f} x {best[0]}" if best else ""
    expert = report.speed_of(row, report.TUNED, report.EXPERT)
    ratio += f", {expert:.2f} x the expert" if expert else ""
    unfused = report.speed_of(row, report.TUNED, report.UNFUSED)
    ratio += f", {unfused:.2f} x unfused" if unfused else ""
    winograd = row["sides"].get("Lathe by Winograd", {}).get("median_ns")
    if winograd and best:
        ratio += f", by Winograd {report.time_text(winograd)}, {best[1] / winograd:.2f} x"
    return f"{row['name']}: {report.time_text(tuned['median_ns'])}, {share:.0f} % of {row['roof']}{ratio}, {row.get('tuning_s', 0):.0f} s"


def main():
    given = options()
    given.out.mkdir(parents=True, exist_ok=True)
    comparison = Comparison(given)
    roofs = comparison.roofs()
    machine, rows = machine_of(given, roofs), []
    chosen = [workloads.network(file) for file in given.network] or workloads.select(given.lists.split(","), given.only)
    for workload in chosen:
        rows.append(comparison.row(workload, roofs))
        print(line_of(rows[-1]), flush=True)
        report.write(given.out, machine, rows)
    print(f"{given.out}/cpu_kernels.md")


if __name__ == "__main__":
    main()
