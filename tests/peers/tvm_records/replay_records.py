"""Loads a folder of database_workload.json and database_tuning_record.json in the installed TVM and replays every record.

Run by hand in TVM's environment:  python replay_records.py /tmp/records
Says for each record whether its trace replays on its workload; the exit status is the number of those that do not.
"""

import sys

from tvm.s_tir import Schedule, meta_schedule as ms


def main(folder):
    failed = 0
    for number, record in enumerate(ms.database.JSONDatabase(work_dir=folder).get_all_tuning_records()):
        try:
            record.trace.apply_to_schedule(Schedule(record.workload.mod), remove_postproc=False)
            print(number, "replays")
        except Exception as error:  # whatever TVM raises
            print(number, "fails:", str(error).splitlines()[0])
            failed += 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
