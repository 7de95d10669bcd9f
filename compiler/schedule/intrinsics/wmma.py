# Fragments of a tile of M x N by K, which a warp holds together. FRAG_ROWS x FRAG_COLUMNS: one fragment of FRAG_TYPE.
# Memory of fragments counts in fragments: the one at elem_offset e of rows of s elements is
# e // s // rows * (s // columns) + e % s // columns.
@T.prim_func
def sync_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (M, K), IN_TYPE, align=64, offset_factor=A_OFFSET, scope="wmma.matrix_a")
    B = T.match_buffer(b, (B_ROWS, B_COLUMNS), IN_TYPE, align=64, offset_factor=B_OFFSET, scope="wmma.matrix_b")
    C = T.match_buffer(c, (M, N), OUT_TYPE, align=64, offset_factor=C_OFFSET, scope="wmma.accumulator")
    with T.block("root"):
        T.reads(C[0:M, 0:N], A[0:M, 0:K], B[0:B_ROWS, 0:B_COLUMNS])
        T.writes(C[0:M, 0:N])
        for i, j, k in T.grid(M, N, K):
            with T.block(""):
                vii, vjj, vkk = T.axis.remap("SSR", [i, j, k])
                C[vii, vjj] = C[vii, vjj] + T.cast(A[vii, vkk], OUT_TYPE) * T.cast(B[B_AT], OUT_TYPE)


@T.prim_func
def sync(a: T.handle, b: T.handle, c: T.handle) -> None:
    a1, a0, b1, b0, c1, c0 = T.int32(), T.int32(), T.int32(), T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (M, K), IN_TYPE, align=64, offset_factor=A_OFFSET, scope="wmma.matrix_a", strides=[a1, a0])
    B = T.match_buffer(b, (B_ROWS, B_COLUMNS), IN_TYPE, align=64, offset_factor=B_OFFSET, scope="wmma.matrix_b",
                       strides=[b1, b0])
    C = T.match_buffer(c, (M, N), OUT_TYPE, align=64, offset_factor=C_OFFSET, scope="wmma.accumulator",
                       strides=[c1, c0])
    with T.block("root"):
        T.reads(C[0:M, 0:N], A[0:M, 0:K], B[0:B_ROWS, 0:B_COLUMNS])
        T.writes(C[0:M, 0:N])
        T.evaluate(T.tvm_mma_sync(
            C.data, C.elem_offset // c1 // M * (c1 // N) + C.elem_offset % c1 // N,
            A.data, A.elem_offset // a1 // M * (a1 // K) + A.elem_offset % a1 // K,
            B.data, B.elem_offset // b1 // B_ROWS * (b1 // B_COLUMNS) + B.elem_offset % b1 // B_COLUMNS,
            C.data, C.elem_offset // c1 // M * (c1 // N) + C.elem_offset % c1 // N, dtype="handle"))


@T.prim_func
def load_desc(a: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (FRAG_ROWS, FRAG_COLUMNS), FRAG_TYPE, align=64, offset_factor=FRAG_OFFSET, scope=SCOPE)
    C = T.match_buffer(c, (FRAG_ROWS, FRAG_COLUMNS), FRAG_TYPE, align=64, offset_factor=FRAG_OFFSET, scope=FRAG_SCOPE)
    with T.block("root"):
        T.reads(A[0:FRAG_ROWS, 0:FRAG_COLUMNS])
        T.writes(C[0:FRAG_ROWS, 0:FRAG_COLUMNS])
        for i, j in T.grid(FRAG_ROWS, FRAG_COLUMNS):
            with T.block("load"):
                vii, vjj = T.axis.remap("SS", [i, j])
                C[vii, vjj] = A[vii, vjj]


@T.prim_func
def load(a: T.handle, c: T.handle) -> None:
    s1, s0, d1, d0 = T.int32(), T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (FRAG_ROWS, FRAG_COLUMNS), FRAG_TYPE, align=64, offset_factor=FRAG_OFFSET, scope=SCOPE,
                       strides=[s1, s0])
    C = T.match_buffer(c, (FRAG_ROWS, FRAG_COLUMNS), FRAG_TYPE, align=64, offset_factor=FRAG_OFFSET, scope=FRAG_SCOPE,
                       strides=[d1, d0])
    with T.block("root"):
        T.reads(A[0:FRAG_ROWS, 0:FRAG_COLUMNS])
        T.writes(C[0:FRAG_ROWS, 0:FRAG_COLUMNS])
        T.evaluate(T.tvm_load_matrix_sync(
            C.data, M, N, K,
            C.elem_offset // d1 // FRAG_ROWS * (d1 // FRAG_COLUMNS) + C.elem_offset % d1 // FRAG_COLUMNS,
            A.access_ptr("r"), s1, MAJOR, dtype="handle"))


@T.prim_func
def fill_desc(c: T.handle) -> None:
    C = T.match_buffer(c, (FRAG_ROWS, FRAG_COLUMNS), FRAG_TYPE, align=64, offset_factor=FRAG_OFFSET, scope=FRAG_SCOPE)
    with T.block("root"):
        T.reads()
        T.writes(C[0:FRAG_ROWS, 0:FRAG_COLUMNS])
        for i, j in T.grid(FRAG_ROWS, FRAG_COLUMNS):
            with T.block("init"):
                vii, vjj = T.axis.remap("SS", [i, j])
                C[vii, vjj] = ZERO


@T.prim_func
def fill(c: T.handle) -> None:
    d1, d0 = T.int32(), T.int32()
    C = T.match_buffer(c, (FRAG_ROWS, FRAG_COLUMNS), FRAG_TYPE, align=64, offset_factor=FRAG_OFFSET, scope=FRAG_SCOPE,
                       strides=[d1, d0])
    with T.block("root"):
        T.reads()
        T.writes(C[0:FRAG_ROWS, 0:FRAG_COLUMNS])
        T.evaluate(T.tvm_fill_fragment(
            C.data, M, N, K,
            C.elem_offset // d1 // FRAG_ROWS * (d1 // FRAG_COLUMNS) + C.elem_offset % d1 // FRAG_COLUMNS,
            T.float32(0.0), dtype="handle"))


@T.prim_func
def store_desc(a: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (FRAG_ROWS, FRAG_COLUMNS), FRAG_TYPE, align=64, offset_factor=FRAG_OFFSET, scope=FRAG_SCOPE)
    C = T.match_buffer(c, (FRAG_ROWS, FRAG_COLUMNS), FRAG_TYPE, align=64, offset_factor=FRAG_OFFSET, scope=SCOPE)
    with T.block("root"):
        T.reads(A[0:FRAG_ROWS, 0:FRAG_COLUMNS])
        T.writes(C[0:FRAG_ROWS, 0:FRAG_COLUMNS])
        for i, j in T.grid(FRAG_ROWS, FRAG_COLUMNS):
            with T.block("store"):
                vii, vjj = T.axis.remap("SS", [i, j])
                C[vii, vjj] = A[vii, vjj]


@T.prim_func
def store(a: T.handle, c: T.handle) -> None:
    s1, s0, d1, d0 = T.int32(), T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (FRAG_ROWS, FRAG_COLUMNS), FRAG_TYPE, align=64, offset_factor=FRAG_OFFSET, scope=FRAG_SCOPE,
                       strides=[d1, d0])
    C = T.match_buffer(c, (FRAG_ROWS, FRAG_COLUMNS), FRAG_TYPE, align=64, offset_factor=FRAG_OFFSET, scope=SCOPE,
                       strides=[s1, s0])
    with T.block("root"):
        T.reads(A[0:FRAG_ROWS, 0:FRAG_COLUMNS])
        T.writes(C[0:FRAG_ROWS, 0:FRAG_COLUMNS])
        T.evaluate(T.tvm_store_matrix_sync(
            A.data, M, N, K,
            A.elem_offset // d1 // FRAG_ROWS * (d1 // FRAG_COLUMNS) + A.elem_offset % d1 // FRAG_COLUMNS,
            C.access_ptr("w"), s1, "row_major", dtype="handle"))
