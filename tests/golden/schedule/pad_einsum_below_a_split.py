# Loops of iter vars that are not padded may be split, and unit loops stand around.
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
l4, l5 = sch.split(loop=l1, factors=[None, 8])
l6 = sch.add_unit_loop(block_or_loop=l4)
sch.pad_einsum(block=b0, padding=[4, 8, 1])
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 12), "float32"), B: T.Buffer((12, 10), "float32"), C: T.Buffer((16, 10), "float32")):
    for i0, i1, i2 in T.grid(16, 10, 12):
        with T.block("C"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            T.reads(A[i, k], B[k, j])
            T.writes(C[i, j])
            with T.init():
                C[i, j] = T.float32(0.0)
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
@T.prim_func
def expected(A: T.Buffer((16, 12), "float32"), B: T.Buffer((12, 10), "float32"), C: T.Buffer((16, 10), "float32")):
    B_pad = T.alloc_buffer((12, 16))
    C_pad = T.alloc_buffer((16, 16))
    for i0, i1 in T.grid(12, 16):
        with T.block("B_pad"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            T.reads(B[v0, v1])
            T.writes(B_pad[v0, v1])
            B_pad[v0, v1] = T.if_then_else(v1 < 10, B[v0, v1], T.float32(0.0))
    for u, i0_0, i0_1, i1, i2 in T.grid(1, 2, 8, 16, 12):
        with T.block("C"):
            i = T.axis.spatial(16, i0_0 * 8 + i0_1)
            j, k = T.axis.remap("SR", [i1, i2])
            T.reads(A[i, k], B_pad[k, j])
            T.writes(C_pad[i, j])
            with T.init():
                C_pad[i, j] = T.float32(0.0)
            C_pad[i, j] = C_pad[i, j] + A[i, k] * B_pad[k, j]
    for i0, i1 in T.grid(16, 10):
        with T.block("C_pad"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            T.reads(C_pad[v0, v1])
            T.writes(C[v0, v1])
            C[v0, v1] = C_pad[v0, v1]
