# The producer of a stencil computes what one tile needs: 10 elements for 8.
# apply:
b0 = sch.get_block("B")
b1 = sch.get_block("C")
l2, l3 = sch.get_loops(b1)
l4, l5 = sch.split(l2, [None, 8])
sch.compute_at(b0, l4)
# before and expected:
@T.prim_func
def before(A: T.Buffer((34,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.alloc_buffer((34,), "float32")
    for i in range(34):
        with T.block("B"):
            vi = T.axis.spatial(34, i)
            T.reads(A[vi])
            T.writes(B[vi])
            B[vi] = A[vi] * T.float32(2.0)
    for i, k in T.grid(32, 3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(B[vi + vk])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0.0)
            C[vi] = C[vi] + B[vi + vk]
@T.prim_func
def expected(A: T.Buffer((34,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.alloc_buffer((34,), "float32")
    for i_0 in range(4):
        for ax0 in range(10):
            with T.block("B"):
                vi = T.axis.spatial(34, i_0 * 8 + ax0)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi] * T.float32(2.0)
        for i_1, k in T.grid(8, 3):
            with T.block("C"):
                vi = T.axis.spatial(32, i_0 * 8 + i_1)
                vk = T.axis.reduce(3, k)
                T.reads(B[vi + vk])
                T.writes(C[vi])
                with T.init():
                    C[vi] = T.float32(0.0)
                C[vi] = C[vi] + B[vi + vk]
