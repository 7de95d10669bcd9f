# An allocation that a block looks at through a view does not move below that block, whose match_buffer names it.
# pass: plan_and_update_buffer_allocation_location
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    with T.block("fill"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        view = T.match_buffer(B[0:4], (4,), "float32")
        for k in range(4):
            view[k] = A[k]
# expected:
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,), "float32")
    with T.block("fill"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        view = T.match_buffer(B[0:4], (4,), "float32")
        for k in range(4):
            view[k] = A[k]
