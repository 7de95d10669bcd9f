# The decision does not fit: the inner part becomes the factor.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
v3, v4 = sch.sample_partitioned_tile(loop=l2, n=2, partition_pos=1, innerpart_factor=4, decision=[8, 2])
l5, l6 = sch.split(loop=l2, factors=[v3, v4])
# before and expected:
@T.prim_func
def before(A: T.Buffer((14, 16), "float32"), C: T.Buffer((14, 16), "float32")):
    B = T.alloc_buffer((14, 16), "float32")
    for i, j in T.grid(14, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] + T.float32(1.0)
@T.prim_func
def expected(A: T.Buffer((14, 16), "float32"), C: T.Buffer((14, 16), "float32")):
    B = T.alloc_buffer((14, 16), "float32")
    for i, j_0, j_1 in T.grid(14, 4, 4):
        with T.block("B"):
            vi = T.axis.spatial(14, i)
            vj = T.axis.spatial(16, j_0 * 4 + j_1)
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] + T.float32(1.0)
