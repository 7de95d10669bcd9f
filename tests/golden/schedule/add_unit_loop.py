# Around a block, then around a loop.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
l3 = sch.add_unit_loop(block_or_loop=b0)
l4 = sch.add_unit_loop(block_or_loop=l1)
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj]
@T.prim_func
def expected(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for u, i, j, u_1 in T.grid(1, 16, 8, 1):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj]
