# Reducers have the output on the left, as in TVM.
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
b4 = sch.rfactor(loop=l3, factor_axis=0)
# fails: no known commutative reducer
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((8, 32), "float32"), C: T.Buffer((16, 8), "float32")):
    for i, j, k in T.grid(16, 8, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = A[vi, vk] * B[vj, vk] + C[vi, vj]
