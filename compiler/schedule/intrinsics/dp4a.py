# Four products of bytes added up.
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), A_TYPE, offset_factor=1, align=4, scope="shared")
    B = T.match_buffer(b, (4,), B_TYPE, offset_factor=1, align=4, scope="shared")
    C = T.match_buffer(c, (1,), C_TYPE, offset_factor=1, align=4, scope="local")
    with T.block("root"):
        T.reads(C[0], A[0:4], B[0:4])
        T.writes(C[0])
        for i in range(0, 4):
            with T.block("update"):
                vi = T.axis.remap("R", [i])
                C[0] = C[0] + T.cast(A[vi], C_TYPE) * T.cast(B[vi], C_TYPE)


@T.prim_func
def dp4a(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), A_TYPE, offset_factor=1, align=4, scope="shared")
    B = T.match_buffer(b, (4,), B_TYPE, offset_factor=1, align=4, scope="shared")
    C = T.match_buffer(c, (1,), C_TYPE, offset_factor=1, align=4, scope="local")
    with T.block("root"):
        T.reads(C[0], A[0:4], B[0:4])
        T.writes(C[0])
        C[0] += T.call_pure_extern(C_TYPE, "__dp4a", A.vload([0], A_X4), B.vload([0], B_X4), T.cast(0, C_TYPE))
