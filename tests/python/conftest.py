"""Every program here is written for TVM v0.18; `import tvm` is ours."""
import lathe.compat

lathe.compat.install_as("tvm")
