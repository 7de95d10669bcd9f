# The output stays as it is.
# apply:
b0 = sch.get_block(name="C", func_name="main")
sch.pad_einsum(block=b0, padding=[5, 5, 8])
# before and expected:
@T.prim_func
def before(A: T.Buffer((15, 12), "float32"), B: T.Buffer((12, 10), "float32"), C: T.Buffer((15, 10), "float32")):
    for i0, i1, i2 in T.grid(15, 10, 12):
        with T.block("C"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            T.reads(A[i, k], B[k, j])
            T.writes(C[i, j])
            with T.init():
                C[i, j] = T.float32(0.0)
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
@T.prim_func
def expected(A: T.Buffer((15, 12), "float32"), B: T.Buffer((12, 10), "float32"), C: T.Buffer((15, 10), "float32")):
    A_pad = T.alloc_buffer((15, 16), "float32")
    B_pad = T.alloc_buffer((16, 10), "float32")
    for i0, i1 in T.grid(15, 16):
        with T.block("A_pad"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            T.reads(A[v0, v1])
            T.writes(A_pad[v0, v1])
            A_pad[v0, v1] = T.if_then_else(v1 < 12, A[v0, v1], T.float32(0.0))
    for i0, i1 in T.grid(16, 10):
        with T.block("B_pad"):
            v0, v1 = T.axis.remap("SS", [i0, i1])
            T.reads(B[v0, v1])
            T.writes(B_pad[v0, v1])
            B_pad[v0, v1] = T.if_then_else(v0 < 12, B[v0, v1], T.float32(0.0))
    for i0, i1, i2 in T.grid(15, 10, 16):
        with T.block("C"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            T.reads(A_pad[i, k], B_pad[k, j])
            T.writes(C[i, j])
            with T.init():
                C[i, j] = T.float32(0.0)
            C[i, j] = C[i, j] + A_pad[i, k] * B_pad[k, j]
