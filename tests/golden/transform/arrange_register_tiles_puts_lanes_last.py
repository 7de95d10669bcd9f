# The lanes run along the first dimension of the tile; afterwards along its last.
# pass: arrange_register_tiles
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16, 4), "float32")):
    with T.decl_buffer((16, 4), "float32", scope="register") as acc:
        for j in T.unroll(4):
            for i in T.vectorized(16):
                acc[i, j] = A[i]
        for j in T.unroll(4):
            for i in T.vectorized(16):
                B[i, j] = acc[i, j]
# expected:
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16, 4), "float32")):
    acc = T.decl_buffer((4, 16), "float32", scope="register")
    for j in T.unroll(4):
        for i in T.vectorized(16):
            acc[j, i] = A[i]
    for j in T.unroll(4):
        for i in T.vectorized(16):
            B[i, j] = acc[j, i]
