# The copy is made and written back where the block runs, under its predicate. (TVM uses the block's iter vars outside of it.)
# apply:
b0 = sch.get_block(name="scale")
b1, b2 = sch.cache_inplace(b0, 0, "local")
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32")):
    for i, j in T.grid(16, 30):
        with T.block("scale"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(j < 29)
            A[vi, vj] = A[vi, vj] * 2.0
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32")):
    A_local = T.alloc_buffer((16, 32), "float32", scope="local")
    for i, j in T.grid(16, 30):
        for ax0, ax1 in T.grid(1, 1):
            with T.block("A_local"):
                v0 = T.axis.spatial(16, i + ax0)
                v1 = T.axis.spatial(32, j + ax1)
                T.where(j < 29)
                T.reads(A[v0, v1])
                T.writes(A_local[v0, v1])
                A_local[v0, v1] = A[v0, v1]
        with T.block("scale"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(j < 29)
            T.reads(A_local[vi, vj])
            T.writes(A_local[vi, vj])
            A_local[vi, vj] = A_local[vi, vj] * T.float32(2.0)
        for ax0, ax1 in T.grid(1, 1):
            with T.block("A_local"):
                v0 = T.axis.spatial(16, i + ax0)
                v1 = T.axis.spatial(32, j + ax1)
                T.where(j < 29)
                T.reads(A_local[v0, v1])
                T.writes(A[v0, v1])
                A[v0, v1] = A_local[v0, v1]
