# Threads cannot share the work on memory that each has for itself.
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2 = sch.get_loops(block=b0)
sch.bind(l1, "threadIdx.x")
b3 = sch.cache_read(b0, 0, "local")
sch.compute_at(b3, l1)
l4, l5 = sch.get_loops(block=b3)
sch.bind(l5, "threadIdx.x")
# fails: loop "i" around or inside it is bound to threadIdx.x already: each thread has a buffer "A_local" of its own
# before and expected:
@T.prim_func
def before(A: T.Buffer((16,), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vj]
