# The init runs in the first part only: the iter var keeps its domain. (In TVM each part has its own and starts again.)
# apply:
b0 = sch.get_block(name="C")
l1, l2, l3 = sch.get_loops(b0)
l4, l5 = sch.loop_partition(loop=l3, factors=[4, None])
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
@T.prim_func
def expected(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.block("C_k_common"):
            T.reads()
            T.writes()
            with T.block("C_k0_partition"):
                T.reads()
                T.writes()
                for k0 in range(4):
                    with T.block("C_k0"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        vk = T.axis.reduce(32, k0)
                        T.reads(A[0:16, 0:4], B[0:4, 0:16])
                        T.writes(C[0:16, 0:16])
                        with T.init():
                            C[vi, vj] = T.float32(0.0)
                        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
            with T.block("C_k1_partition"):
                T.reads()
                T.writes()
                for k1 in range(4, 32):
                    with T.block("C_k1"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        vk = T.axis.reduce(32, k1)
                        T.reads(A[0:16, 4:32], B[4:32, 0:16])
                        T.writes(C[0:16, 0:16])
                        with T.init():
                            C[vi, vj] = T.float32(0.0)
                        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
