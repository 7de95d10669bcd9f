"""Types of elements and devices."""
from lathe.runtime import DataType, DataTypeCode, Device
