# Tiles of 16 x 8 by 8 whose memory the code generator divides among the lanes of a warp (scopes m16n8k8.*).
@T.prim_func
def init_desc(c: T.handle) -> None:
    dst = T.match_buffer(c, (16, 8), TYPE, align=64, offset_factor=1, scope="m16n8k8.matrixC")
    with T.block("root"):
        T.reads()
        T.writes(dst[0:16, 0:8])
        for i, j in T.grid(16, 8):
            with T.block("init"):
                vi, vj = T.axis.remap("SS", [i, j])
                dst[vi, vj] = ZERO


@T.prim_func
def init(c: T.handle) -> None:
    dst = T.match_buffer(c, (16, 8), TYPE, align=64, offset_factor=1, scope="m16n8k8.matrixC")
    with T.block("root"):
        T.reads()
        T.writes(dst[0:16, 0:8])
        for tx in T.thread_binding(32, "threadIdx.x"):
            for b in range(2):
                for v in T.vectorized(2):
                    dst[b * 8 + tx // 4, tx % 4 * 2 + v] = ZERO


@T.prim_func
def load_desc(a: T.handle, c: T.handle) -> None:
    src = T.match_buffer(a, (ROWS, COLUMNS), "float16", align=64, offset_factor=1, scope="shared.dyn")
    dst = T.match_buffer(c, (ROWS, COLUMNS), "float16", align=64, offset_factor=1, scope=FRAG_SCOPE)
    with T.block("root"):
        T.reads(src[0:ROWS, 0:COLUMNS])
        T.writes(dst[0:ROWS, 0:COLUMNS])
        for i, j in T.grid(ROWS, COLUMNS):
            with T.block("root"):
                vi, vj = T.axis.remap("SS", [i, j])
                dst[vi, vj] = src[vi, vj]


@T.prim_func
def load(a: T.handle, c: T.handle) -> None:
    s0, s1, d0, d1 = T.int32(), T.int32(), T.int32(), T.int32()
    src = T.match_buffer(a, (ROWS, COLUMNS), "float16", align=64, offset_factor=1, scope="shared.dyn", strides=[s0, s1])
    dst = T.match_buffer(c, (ROWS, COLUMNS), "float16", align=64, offset_factor=1, scope=FRAG_SCOPE, strides=[d0, d1])
    with T.block("root"):
        T.reads(src[0:ROWS, 0:COLUMNS])
        T.writes(dst[0:ROWS, 0:COLUMNS])
        for tx in T.thread_binding(32, "threadIdx.x"):
            T.evaluate(T.ptx_ldmatrix(T.bool(TRANS), 4, ".b16", dst.data, FRAG_AT, src.access_ptr("r"), SHARED_AT,
                                      dtype="float16"))


@T.prim_func
def sync_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (16, 8), "float16", align=64, offset_factor=1, scope="m16n8k8.matrixA")
    B = T.match_buffer(b, (8, 8), "float16", align=64, offset_factor=1, scope="m16n8k8.matrixB")
    C = T.match_buffer(c, (16, 8), TYPE, align=64, offset_factor=1, scope="m16n8k8.matrixC")
    with T.block("root"):
        T.reads(C[0:16, 0:8], A[0:16, 0:8], B[0:8, 0:8])
        T.writes(C[0:16, 0:8])
        for i, j, k in T.grid(16, 8, 8):
            with T.block("m16n8k8_sync"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], TYPE) * T.cast(B[vk, vj], TYPE)


@T.prim_func
def sync(a: T.handle, b: T.handle, c: T.handle) -> None:
    a0, a1, b0, b1, c0, c1 = T.int32(), T.int32(), T.int32(), T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (16, 8), "float16", align=64, offset_factor=1, scope="m16n8k8.matrixA", strides=[a0, a1])
    B = T.match_buffer(b, (8, 8), "float16", align=64, offset_factor=1, scope="m16n8k8.matrixB", strides=[b0, b1])
    C = T.match_buffer(c, (16, 8), TYPE, align=64, offset_factor=1, scope="m16n8k8.matrixC", strides=[c0, c1])
    with T.block("root"):
        T.reads(C[0:16, 0:8], A[0:16, 0:8], B[0:8, 0:8])
        T.writes(C[0:16, 0:8])
        T.evaluate(T.ptx_mma(
            "m16n8k8", "row", "col", "float16", "float16", TYPE, A.data,
            (A.elem_offset // a0 // 32 * (a0 // 8) + A.elem_offset % a0 // 8) * 8 + A.elem_offset // a0 % 32 // 16 * 4,
            B.data,
            (B.elem_offset // b0 // 8 * (b0 // 32) + B.elem_offset % b0 // 32) * 8 + B.elem_offset % b0 % 32 // 8 * 2,
            C.data,
            (C.elem_offset // c0 // 8 // 2 * 2 * (c0 // 8) + C.elem_offset // c0 // 8 % 2 +
             C.elem_offset % c0 // 8 * 2) * 2,
            T.bool(False), dtype=TYPE))


# Its own description: to be stored by what comes after.
@T.prim_func
def store(a: T.handle, c: T.handle) -> None:
    src = T.match_buffer(a, (16, 8), TYPE, align=64, offset_factor=1, scope="m16n8k8.matrixC")
    dst = T.match_buffer(c, (16, 8), TYPE, align=64, offset_factor=1, scope="shared.dyn")
    with T.block("root"):
        T.reads(src[0:16, 0:8])
        T.writes(dst[0:16, 0:8])
        for i, j in T.grid(16, 8):
            with T.block("m16n8k8_store"):
                vi, vj = T.axis.remap("SS", [i, j])
                dst[vi, vj] = src[vi, vj]
