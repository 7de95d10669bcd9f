# What the factors leave is a part of its own. The blocks around declare nothing, as in TVM.
# apply:
b0 = sch.get_block(name="C")
l1, l2 = sch.get_loops(b0)
l3, l4, l5 = sch.loop_partition(l2, [2, 8])
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
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for i in range(16):
        with T.block("C_j_common"):
            T.reads()
            T.writes()
            with T.block("C_j0_partition"):
                T.reads()
                T.writes()
                for j0 in range(2):
                    with T.block("C_j0"):
                        vi, vj = T.axis.remap("SS", [i, j0])
                        T.reads(B[0:16, 0:2])
                        T.writes(C[0:16, 0:2])
                        C[vi, vj] = B[vi, vj] + T.float32(1.0)
            with T.block("C_j1_partition"):
                T.reads()
                T.writes()
                for j1 in range(2, 10):
                    with T.block("C_j1"):
                        vi, vj = T.axis.remap("SS", [i, j1])
                        T.reads(B[0:16, 2:10])
                        T.writes(C[0:16, 2:10])
                        C[vi, vj] = B[vi, vj] + T.float32(1.0)
            with T.block("C_j2_partition"):
                T.reads()
                T.writes()
                for j2 in range(10, 32):
                    with T.block("C_j2"):
                        vi, vj = T.axis.remap("SS", [i, j2])
                        T.reads(B[0:16, 10:32])
                        T.writes(C[0:16, 10:32])
                        C[vi, vj] = B[vi, vj] + T.float32(1.0)
