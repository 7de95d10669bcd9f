# The last of the 9 parts has no term at all, so nobody would set it to 0 (TVM accepts this and reads what was never written).
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
l4, l5 = sch.split(loop=l3, factors=[9, 4])
b6 = sch.rfactor(loop=l4, factor_axis=0)
# fails: leaves some iterations of the loop without an init
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((16, 8), "float32")):
    for i, j, k in T.grid(16, 8, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
