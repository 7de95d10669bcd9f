# Inside the reduction it is too late.
# apply:
b0 = sch.get_block("matmul")
l1, l2, l3 = sch.get_loops(b0)
sch.reorder(l3, l2)
b6 = sch.decompose_reduction(b0, l2)
# fails: loop "k" outside it already reduces; choose that or one further out
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 64), "float32"), C: T.Buffer((16, 64), "float32")):
    for i, j, k in T.grid(16, 64, 32):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
