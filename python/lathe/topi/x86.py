"""The schedules of CPUs."""
from lathe.topi import schedules as _schedules

globals().update(_schedules.all_by_name(_schedules.for_cpu))
schedule_elemwise = schedule_broadcast = _schedules.for_cpu
