"""Values as nodes."""
from lathe.runtime import const, convert
