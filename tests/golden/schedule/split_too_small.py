# Factors that do not cover the extent.
# apply:
b0 = sch.get_block(name="copy")
l1, = sch.get_loops(block=b0)
l2, l3 = sch.split(loop=l1, factors=[8, 12])
# fails: split @before loop "i": factors [8, 12] cover 96, extent is 100; change a factor
# before and expected:
@T.prim_func
def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(100):
        with T.block("copy"):
            vi = T.axis.spatial(100, i)
            B[vi] = A[vi]
