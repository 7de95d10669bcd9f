"""Tensors: lathe.runtime.ndarray by its short name."""
from lathe.runtime.ndarray import Device, NDArray, array, cpu, cuda, device, empty, from_dlpack, gpu, numpyasarray
