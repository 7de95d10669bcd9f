"""What is in this build."""


def libinfo():
    """By TVM's names of options: "ON" for what is there, "OFF" for the devices and libraries that are not."""
    from lathe import __version__
    absent = ("CUDA", "CUDNN", "CUBLAS", "CUTLASS", "ROCM", "OPENCL", "VULKAN", "METAL", "HEXAGON", "RPC", "MKL", "DNNL")
    return {"TVM_VERSION": __version__, "USE_LLVM": "ON", **{f"USE_{name}": "OFF" for name in absent}}
