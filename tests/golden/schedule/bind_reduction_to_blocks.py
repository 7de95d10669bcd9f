# Groups of threads may not.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
sch.bind(loop=l2, thread_axis="blockIdx.x")
# fails: which is not data-parallel
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vj]
