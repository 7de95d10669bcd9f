"""What was done to a schedule, to be done again."""
from lathe._lib import Trace
