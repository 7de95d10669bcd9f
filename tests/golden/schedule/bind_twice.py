# A thread has one place on each axis (TVM accepts this and computes the diagonal).
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
sch.bind(loop=l1, thread_axis="threadIdx.x")
sch.bind(loop=l2, thread_axis="threadIdx.x")
# fails: loop "i" around or inside it is bound to threadIdx.x already: their extents differ
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
