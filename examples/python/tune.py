#!/usr/bin/python3
"""Tunes the kernel of a file on a server, shows how it gets on, and asks for the best: tune.py SERVER DEVICE_KEY FUNC.py [TRIALS]"""
import pathlib
import sys

import lathe_client


def main() -> int:
    server, device, path = sys.argv[1:4]
    trials = int(sys.argv[4]) if len(sys.argv) > 4 else 64
    workload = pathlib.Path(path).read_text(encoding="utf-8")
    try:
        with lathe_client.Client(server) as client:
            job = client.submit([workload], device=device, name=pathlib.Path(path).name, trials=trials)
            for update in client.watch(job.id):
                task = update.job.tasks[0]
                print(update.job.state, task.trials_known, task.best_ns)
            task = client.job(job.id).tasks[0]
            best = client.best([task.workload], target=task.target, device=device)[0]
            print(best.lookup, best.median_ns)
    except lathe_client.LatheError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
