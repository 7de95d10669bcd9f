# A loop of threads.
# apply:
b0 = sch.get_block(name="copy")
l1, = sch.get_loops(block=b0)
sch.bind(l1, "threadIdx.x")
l2, l3 = sch.split(loop=l1, factors=[10, 10])
# fails: split it first, then bind it
# before and expected:
@T.prim_func
def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(100):
        with T.block("copy"):
            vi = T.axis.spatial(100, i)
            B[vi] = A[vi]
