# Rows of 14 elements in vectors of 16 lanes: afterwards the tile has all of them, and only what is read from memory is guarded.
# pass: arrange_register_tiles
@T.prim_func
def main(A: T.Buffer((4, 14), "float32"), W: T.Buffer((4,), "float32"), B: T.Buffer((4, 14), "float32")):
    with T.decl_buffer((4, 14), "float32", scope="register") as acc:
        for i in T.unroll(4):
            for j in T.vectorized(16):
                if j < 14:
                    acc[i, j] = T.float32(0)
        for i in T.unroll(4):
            for j in T.vectorized(16):
                if j < 14:
                    acc[i, j] = acc[i, j] + A[i, j] * W[i]
        for i in T.unroll(4):
            for j in T.vectorized(16):
                if j < 14:
                    B[i, j] = acc[i, j]
# expected:
@T.prim_func
def main(A: T.Buffer((4, 14), "float32"), W: T.Buffer((4,), "float32"), B: T.Buffer((4, 14), "float32")):
    acc = T.decl_buffer((4, 16), "float32", scope="register")
    for i in T.unroll(4):
        for j in T.vectorized(16):
            acc[i, j] = T.float32(0.0)
    for i in T.unroll(4):
        for j in T.vectorized(16):
            acc[i, j] = acc[i, j] + T.if_then_else(j < 14, A[i, j], T.undef("float32")) * W[i]
    for i in T.unroll(4):
        for j in T.vectorized(16):
            if j < 14:
                B[i, j] = acc[i, j]
