# What 32 lanes hold of a tile, as the mma instructions want it: element (r, c) is register l of lane t, the [t, l] that
# TILE_AT, A_AT, B_AT and C_AT say.
@T.prim_func
def ldmatrix_desc(a: T.handle, c: T.handle) -> None:
    warp = T.match_buffer(a, (32, LOCAL), TYPE, align=64, offset_factor=OFFSET, scope="warp")
    shared = T.match_buffer(c, (ROWS, COLUMNS), TYPE, align=64, offset_factor=OFFSET, scope=SCOPE)
    with T.block("root"):
        T.reads(shared[0:ROWS, 0:COLUMNS])
        T.writes(warp[0:32, 0:LOCAL])
        for ax0, ax1 in T.grid(ROWS, COLUMNS):
            with T.block("shared_warp"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                warp[TILE_AT] = shared[v0, v1]


@T.prim_func
def ldmatrix(a: T.handle, c: T.handle) -> None:
    s0, s1 = T.int32(), T.int32()
    warp = T.match_buffer(a, (32, LOCAL), TYPE, align=64, offset_factor=OFFSET, scope="warp")
    shared = T.match_buffer(c, (ROWS, COLUMNS), TYPE, align=64, offset_factor=OFFSET, scope=SCOPE, strides=[s0, s1])
    with T.block("root"):
        T.reads(shared[0:ROWS, 0:COLUMNS])
        T.writes(warp[0:32, 0:LOCAL])
        for tx in T.thread_binding(32, "threadIdx.x"):
            T.evaluate(T.ptx_ldmatrix(T.bool(TRANS), 4, ".b16", warp.data, warp.elem_offset + LOCAL * tx,
                                      shared.access_ptr("r"), SHARED_AT, dtype=TYPE))


@T.prim_func
def sync_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (32, LOCAL), IN_TYPE, align=64, offset_factor=A_OFFSET, scope="warp")
    B = T.match_buffer(b, (32, LOCAL), IN_TYPE, align=64, offset_factor=B_OFFSET, scope="warp")
    C = T.match_buffer(c, (32, 8), OUT_TYPE, align=64, offset_factor=16, scope="warp")
    with T.block("root"):
        T.reads(C[0:32, 0:8], A[0:32, 0:LOCAL], B[0:32, 0:LOCAL])
        T.writes(C[0:32, 0:8])
        for i, j, k in T.grid(16, 16, K):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[C_AT] = C[C_AT] + T.cast(A[A_AT], OUT_TYPE) * T.cast(B[B_AT], OUT_TYPE)


@T.prim_func
def sync(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (32, LOCAL), IN_TYPE, align=64, offset_factor=A_OFFSET, scope="warp")
    B = T.match_buffer(b, (32, LOCAL), IN_TYPE, align=64, offset_factor=B_OFFSET, scope="warp")
    C = T.match_buffer(c, (32, 8), OUT_TYPE, align=64, offset_factor=16, scope="warp")
    with T.block("root"):
        T.reads(C[0:32, 0:8], A[0:32, 0:LOCAL], B[0:32, 0:LOCAL])
        T.writes(C[0:32, 0:8])
        for tx in T.thread_binding(32, "threadIdx.x"):
            T.evaluate(T.ptx_mma(SHAPE, "row", "col", IN_PTX, IN_PTX, OUT_PTX, A.data, A.elem_offset + tx * LOCAL,
                                 B.data, B.elem_offset + tx * LOCAL, C.data, C.elem_offset + tx * 8, T.bool(False),
                                 dtype=OUT_TYPE))
            T.evaluate(T.ptx_mma(SHAPE, "row", "col", IN_PTX, IN_PTX, OUT_PTX, A.data, A.elem_offset + tx * LOCAL,
                                 B.data, B.elem_offset + tx * LOCAL + HALF, C.data, C.elem_offset + tx * 8 + 4,
                                 T.bool(False), dtype=OUT_TYPE))


@T.prim_func
def fill_desc(a: T.handle) -> None:
    C_warp = T.match_buffer(a, (32, 8), TYPE, scope="warp")
    with T.block("root"):
        T.reads()
        T.writes(C_warp[0:32, 0:8])
        for i0, i1 in T.grid(16, 16):
            with T.block("C_warp"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                C_warp[TILE_AT] = ZERO


@T.prim_func
def fill(a: T.handle) -> None:
    C_warp = T.match_buffer(a, (32, 8), TYPE, offset_factor=1, scope="warp")
    with T.block("root"):
        T.reads()
        T.writes(C_warp[0:32, 0:8])
        for tx in T.thread_binding(32, "threadIdx.x"):
            T.evaluate(T.mma_fill(8, C_warp.data, C_warp.elem_offset, dtype=TYPE))


@T.prim_func
def store_desc(a: T.handle, c: T.handle) -> None:
    C_warp = T.match_buffer(a, (32, 8), TYPE, scope="warp")
    C = T.match_buffer(c, (16, 16), TYPE, scope=SCOPE)
    with T.block("root"):
        T.reads(C_warp[0:32, 0:8])
        T.writes(C[0:16, 0:16])
        for i0, i1 in T.grid(16, 16):
            with T.block("C_warp"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                C[v0, v1] = C_warp[TILE_AT]


@T.prim_func
def store(a: T.handle, c: T.handle) -> None:
    s0, s1 = T.int32(), T.int32()
    C_warp = T.match_buffer(a, (32, 8), TYPE, offset_factor=1, scope="warp")
    C = T.match_buffer(c, (16, 16), TYPE, offset_factor=1, scope=SCOPE, strides=[s0, s1])
    with T.block("root"):
        T.reads(C_warp[0:32, 0:8])
        T.writes(C[0:16, 0:16])
        for tx in T.thread_binding(32, "threadIdx.x"):
            T.evaluate(T.mma_store(16, 16, C.access_ptr("w"), C_warp.data, C_warp.elem_offset, s0, dtype=TYPE))


# The same without the operation.
@T.prim_func
def store_simple(a: T.handle, c: T.handle) -> None:
    s0, s1 = T.int32(), T.int32()
    C_warp = T.match_buffer(a, (32, 8), TYPE, offset_factor=1, scope="warp")
    C = T.match_buffer(c, (16, 16), TYPE, offset_factor=1, scope=SCOPE, strides=[s0, s1])
    with T.block("root"):
        T.reads(C_warp[0:32, 0:8])
        T.writes(C[0:16, 0:16])
        for tx in T.thread_binding(32, "threadIdx.x"):
            for local_id in range(8):
                C[8 * (local_id % 4 // 2) + tx // 4,
                  8 * (local_id // 4) + tx % 4 * 2 + local_id % 2] = C_warp[tx, local_id]
