# 16 does not divide 100, so the last tile is guarded.
# apply:
b0 = sch.get_block(name="copy", func_name="main")
l1, = sch.get_loops(block=b0)
l2, l3 = sch.split(loop=l1, factors=[None, 16])
# before and expected:
@T.prim_func
def before(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(100):
        with T.block("copy"):
            vi = T.axis.spatial(100, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi]
@T.prim_func
def expected(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i_0, i_1 in T.grid(7, 16):
        with T.block("copy"):
            vi = T.axis.spatial(100, i_0 * 16 + i_1)
            T.where(i_0 * 16 + i_1 < 100)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi]
