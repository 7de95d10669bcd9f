# That the loop over n ran says nothing about the block that follows it: its guard keeps "n > 0".
# apply:
b0 = sch.get_block(name="first")
l1, l2 = sch.get_loops(block=b0)
l3, l4 = sch.split(loop=l1, factors=[4, 4])
# before and expected:
@T.prim_func
def before(n: T.int32, A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(16):
        for j in range(n):
            with T.block("first"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj]
        with T.block("second"):
            vi = T.axis.spatial(16, i)
            T.where(i < 12 and 0 < n)
            T.reads(A[vi, n - 1])
            T.writes(C[vi])
            C[vi] = A[vi, n - 1]
@T.prim_func
def expected(n: T.int32, A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32"), C: T.Buffer((16,), "float32")):
    for i_0, i_1 in T.grid(4, 4):
        for j in range(n):
            with T.block("first"):
                vi = T.axis.spatial(16, i_0 * 4 + i_1)
                vj = T.axis.spatial(n, j)
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj]
        with T.block("second"):
            vi = T.axis.spatial(16, i_0 * 4 + i_1)
            T.where(i_0 * 4 + i_1 < 12 and 0 < n)
            T.reads(A[vi, n - 1])
            T.writes(C[vi])
            C[vi] = A[vi, n - 1]
