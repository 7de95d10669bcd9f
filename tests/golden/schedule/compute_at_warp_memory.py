# Memory of a warp is shared by the threads along x, and by those alone.
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
sch.bind(l1, "threadIdx.y")
sch.bind(l2, "threadIdx.x")
b4 = sch.cache_read(b0, 0, "warp")
sch.compute_at(b4, l2)
# before and expected:
@T.prim_func
def before(A: T.Buffer((4, 32, 8), "float32"), C: T.Buffer((4, 32, 8), "float32")):
    for i, j, k in T.grid(4, 32, 8):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = A[vi, vj, vk] * T.float32(2)
@T.prim_func
def expected(A: T.Buffer((4, 32, 8), "float32"), C: T.Buffer((4, 32, 8), "float32")):
    T.evaluate(0)
