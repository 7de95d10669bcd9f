"""What Lathe makes of a workload: untuned, tuned by so many trials, and by the schedule of an expert."""

import json
import subprocess
import time


class Lathe:
    """The programs of one build, working on one database."""

    def __init__(self, folder, database, cpus, trials, seed):
        self.program, self.database, self.trials, self.seed = folder / "lathe", database, trials, seed
        self.cpus = ",".join(map(str, cpus))
        self.target = f"auto -num-cores={len(cpus)}"

    def _call(self, *words, text=""):
        done = subprocess.run([str(self.program), *map(str, words)], capture_output=True, text=True, input=text)
        if done.returncode != 0:
            raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])
        return done.stdout

    def untuned(self, model, folder):
        return self._compile(model, folder / "untuned.so", folder / "no.db")

    def tuned(self, model, folder, name="tuned", flags=()):
        """The artifact, the trials that were measured, and the seconds that this took."""
        begin = time.monotonic()
        words = ["--db", self.database, "--cpus", self.cpus, "--target", self.target, *flags]
        text = self._call("tune", model, "--trials-per-task", self.trials, "--seed", self.seed, "--json", *words)
        report = json.loads(text)
        return self._compile(model, folder / f"{name}.so", self.database, flags), report, time.monotonic() - begin

    def by_expert(self, model, folder, schedules):
        """With the schedules of a file of experts/."""
        return self._compile(model, folder / "expert.so", folder / "no.db", ["--schedules", schedules])

    def _compile(self, model, output, database, flags=()):
        if not database.exists():
            self._call("db", "import", "-", "--db", database, text='{"kind": "header", "format": "lathe.records/1"}\n')
        self._call("compile", model, "-o", output, "--target", self.target, "--db", database, *flags)
        return output
