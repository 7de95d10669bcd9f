"""Each file of experts/ is of a workload of the lists, and compiles for the machines that its folder is named after.

    experts_test.py FOLDER-OF-LATHE    exits with 77 where the package onnx is missing
"""

from pathlib import Path
import subprocess
import sys
import tempfile

try:
    import workloads
except ImportError as error:
    print(f"skipped: {error}; apt install python3-onnx")
    sys.exit(77)

HERE = Path(__file__).resolve().parent
TARGETS = {"avx512": ("llvm -mcpu=x86-64-v4 -mattr=+avx512vnni,+avx512bf16", 16), "avx2": ("llvm -mcpu=x86-64-v3", 8)}


def all_workloads():
    return {each.name: each for make in workloads.LISTS.values() for each in make()}


def what_is_wrong(program, file, known, folder):
    """In words; "" if nothing is."""
    target, lanes = TARGETS[file.parent.name]
    workload = known.get(file.stem)
    if workload is None:
        return "no workload of that name"
    if workload.kind in workloads.IN_BLOCKS:
        workload = workloads.IN_BLOCKS[workload.kind](workload, lanes)
    workload.write(folder)
    words = [program, "compile", folder / "model.onnx", "-o", folder / "expert.so", "--target", f"{target} -mtriple=x86_64-linux-gnu -num-cores=1"]
    done = subprocess.run([*map(str, words), "--schedules", str(file), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    return "" if '"GIVEN"' in done.stdout else "no kernel has its schedule"


def main():
    program, known, failures = Path(sys.argv[1]) / "lathe", all_workloads(), 0
    files = sorted((HERE / "experts").glob("*/*.py"))
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            wrong = what_is_wrong(program, file, known, Path(folder))
        failures += bool(wrong)
        if wrong:
            print(f"{file.parent.name}/{file.name}: {wrong}")
    print(f"{len(files)} files, {failures} failed")
    sys.exit(1 if failures or not files else 0)


main()
