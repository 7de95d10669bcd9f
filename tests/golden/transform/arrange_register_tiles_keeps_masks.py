# Lanes that are left out must not divide: the row stays as long as it is.
# pass: arrange_register_tiles
@T.prim_func
def main(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    with T.decl_buffer((14,), "int32", scope="register") as acc:
        for j in T.vectorized(16):
            if j < 14:
                acc[j] = 100 // A[j]
        for j in T.vectorized(16):
            if j < 14:
                B[j] = acc[j]
# expected:
@T.prim_func
def main(A: T.Buffer((14,), "int32"), B: T.Buffer((14,), "int32")):
    acc = T.decl_buffer((14,), "int32", scope="register")
    for j in T.vectorized(16):
        if j < 14:
            acc[j] = 100 // A[j]
    for j in T.vectorized(16):
        if j < 14:
            B[j] = acc[j]
