"""The schedules of no target."""
from lathe.topi import schedules as _schedules

globals().update(_schedules.all_by_name(_schedules.plain))
schedule_extern = _schedules.whole
default_schedule = _schedules.plain
