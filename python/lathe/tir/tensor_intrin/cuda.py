"""Instructions of NVIDIA GPUs."""
from lathe.tir.tensor_intrin.dot_product_common import *  # noqa: F401,F403
