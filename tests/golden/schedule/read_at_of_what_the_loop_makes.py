# The copy is made after B.
# apply:
b0 = sch.get_block(name="C")
l1, l2 = sch.get_loops(b0)
b3 = sch.get_block(name="B")
sch.compute_at(b3, l1)
b4 = sch.read_at(loop=l1, block=b0, read_buffer_index=0, storage_scope="shared")
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    B = T.alloc_buffer((16, 32))
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    B = T.alloc_buffer((16, 32), "float32")
    B_shared = T.alloc_buffer((16, 32), "float32", scope="shared")
    for i in range(16):
        for ax0 in range(32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, ax0])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] * T.float32(2.0)
        with T.block("B_shared"):
            v0 = T.axis.spatial(16, i)
            T.reads(B[v0, 0:32])
            T.writes(B_shared[v0, 0:32])
            T.block_attr({"auto_copy": 1})
            for ax0, ax1 in T.grid(1, 32):
                B_shared[v0 + ax0, ax1] = B[v0 + ax0, ax1]
        for j in range(32):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(B_shared[vi, vj])
                T.writes(C[vi, vj])
                C[vi, vj] = B_shared[vi, vj] + T.float32(1.0)
