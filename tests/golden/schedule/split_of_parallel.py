# The new loops are serial, as TVM's.
# apply:
b0 = sch.get_block(name="copy")
l1, = sch.get_loops(block=b0)
sch.parallel(l1)
l2, l3 = sch.split(loop=l1, factors=[10, 10])
# before and expected:
@T.prim_func
def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(100):
        with T.block("copy"):
            vi = T.axis.spatial(100, i)
            B[vi] = A[vi]
@T.prim_func
def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i_0, i_1 in T.grid(10, 10):
        with T.block("copy"):
            vi = T.axis.spatial(100, i_0 * 10 + i_1)
            B[vi] = A[vi]
