# A row of A with each row of B: C[i] += A[k] * B[i, k]. LANES rows of PARTS.
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (PARTS,), A_TYPE, offset_factor=1)
    B = T.match_buffer(b, (LANES, PARTS), B_TYPE, offset_factor=1)
    C = T.match_buffer(c, (LANES,), C_TYPE, offset_factor=1)
    with T.block("root"):
        T.reads(C[0:LANES], A[0:PARTS], B[0:LANES, 0:PARTS])
        T.writes(C[0:LANES])
        for i in range(0, LANES):
            for k in range(0, PARTS):
                with T.block("update"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    C[vi] = C[vi] + T.cast(A[vk], C_TYPE) * T.cast(B[vi, vk], C_TYPE)


@T.prim_func
def vnni(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "uint8", offset_factor=1)
    B = T.match_buffer(b, (16, 4), "int8", offset_factor=1)
    C = T.match_buffer(c, (16,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        A_u8x4 = A.vload([0], "uint8x4")
        A_i32 = T.reinterpret("int32", A_u8x4)
        B_i8x64 = B.vload([0, 0], dtype="int8x64")
        B_i32x16 = T.reinterpret("int32x16", B_i8x64)
        C_i32x16 = C.vload([0], dtype="int32x16")
        C[T.ramp(T.int32(0), 1, 16)] = T.call_llvm_pure_intrin(
            "int32x16", "llvm.x86.avx512.vpdpbusd.512", C_i32x16, T.broadcast(A_i32, 16), B_i32x16)


@T.prim_func
def avxvnni(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "uint8", offset_factor=1)
    B = T.match_buffer(b, (8, 4), "int8", offset_factor=1)
    C = T.match_buffer(c, (8,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:8], A[0:4], B[0:8, 0:4])
        T.writes(C[0:8])
        A_i32 = T.reinterpret("int32", A.vload([0], "uint8x4"))
        B_i32x8 = T.reinterpret("int32x8", B.vload([0, 0], dtype="int8x32"))
        C[T.ramp(T.int32(0), 1, 8)] = T.call_llvm_pure_intrin(
            "int32x8", "llvm.x86.avx512.vpdpbusd.256", C.vload([0], dtype="int32x8"), T.broadcast(A_i32, 8), B_i32x8)


@T.prim_func
def avx512bf16(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (2,), "bfloat16", offset_factor=1)
    B = T.match_buffer(b, (16, 2), "bfloat16", offset_factor=1)
    C = T.match_buffer(c, (16,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:16], A[0:2], B[0:16, 0:2])
        T.writes(C[0:16])
        A_i32 = T.reinterpret("int32", A.vload([0], "bfloat16x2"))
        C[T.ramp(T.int32(0), 1, 16)] = T.call_llvm_pure_intrin(
            "float32x16", "llvm.x86.avx512bf16.dpbf16ps.512", C.vload([0], dtype="float32x16"),
            T.reinterpret("bfloat16x32", T.broadcast(A_i32, 16)), B.vload([0, 0], dtype="bfloat16x32"))


@T.prim_func
def avx512(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "uint8", offset_factor=1)
    B = T.match_buffer(b, (16, 4), "int8", offset_factor=1)
    C = T.match_buffer(c, (16,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        A_u8x4 = A.vload([0], "uint8x4")
        A_i32 = T.reinterpret("int32", A_u8x4)
        A_brdcst = T.broadcast(A_i32, 16)
        A_u8x64 = T.reinterpret("uint8x64", A_brdcst)
        B_i8x64 = B.vload([0, 0], dtype="int8x64")
        Red = T.call_llvm_pure_intrin("int16x32", "llvm.x86.avx512.pmaddubs.w.512", A_u8x64, B_i8x64)
        C[T.ramp(T.int32(0), 1, 16)] = C[T.ramp(T.int32(0), 1, 16)] + T.call_llvm_pure_intrin(
            "int32x16", "llvm.x86.avx512.pmaddw.d.512", Red, T.int16x32(1))


# Each of sdot and udot.
@T.prim_func
def arm_dot(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), A_TYPE, offset_factor=1)
    B = T.match_buffer(b, (4, 4), B_TYPE, offset_factor=1)
    C = T.match_buffer(c, (4,), C_TYPE, offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:4, 0:4])
        T.writes(C[0:4])
        A_i8x4 = A.vload([0], A_X4)
        A_i32 = T.reinterpret(C_TYPE, A_i8x4)
        vec_ai32 = T.broadcast(A_i32, 4)
        vec_a = T.reinterpret(A_X16, vec_ai32)
        vec_b = B.vload([0, 0], dtype=B_X16)
        vec_c = C.vload([0], dtype=C_X4)
        C[T.ramp(T.int32(0), 1, 4)] = T.call_llvm_pure_intrin(C_X4, LLVM_NAME, vec_c, vec_a, vec_b)


@T.prim_func
def neon(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), "int8", offset_factor=1)
    B = T.match_buffer(b, (4, 4), "int8", offset_factor=1)
    C = T.match_buffer(c, (4,), "int32", offset_factor=1)
    with T.block("root"):
        T.reads(C[0:4], A[0:4], B[0:4, 0:4])
        T.writes(C[0:4])
        A_int8 = A.vload([0], "int8x4")
        re_int32 = T.reinterpret("int32", A_int8)
        vec_ai32 = T.broadcast(re_int32, 2)
        vec_a = T.reinterpret("int8x8", vec_ai32)
        vec_b = B.vload([0, 0], dtype="int8x16")
        vec_b_low = T.vectorlow("int8x8", vec_b)
        multiply_low = T.call_llvm_pure_intrin("int16x8", "llvm.aarch64.neon.smull", vec_a, vec_b_low)
        pairwise_low = T.call_llvm_pure_intrin("int32x4", "llvm.aarch64.neon.saddlp", multiply_low)
        vec_b_high = T.vectorhigh("int8x8", vec_b)
        multiply_high = T.call_llvm_pure_intrin("int16x8", "llvm.aarch64.neon.smull", vec_a, vec_b_high)
        pairwise_high = T.call_llvm_pure_intrin("int32x4", "llvm.aarch64.neon.saddlp", multiply_high)
        C[T.ramp(T.int32(0), 1, 4)] = C[T.ramp(T.int32(0), 1, 4)] + T.call_llvm_pure_intrin(
            "int32x4", "llvm.aarch64.neon.addp", pairwise_low, pairwise_high)
