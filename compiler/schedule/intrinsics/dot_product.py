# A row of A with each row of B: C[i] += A[k] * B[i, k]. LANES rows of four.
@T.prim_func
def desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (4,), A_TYPE, offset_factor=1)
    B = T.match_buffer(b, (LANES, 4), B_TYPE, offset_factor=1)
    C = T.match_buffer(c, (LANES,), C_TYPE, offset_factor=1)
    with T.block("root"):
        T.reads(C[0:LANES], A[0:4], B[0:LANES, 0:4])
        T.writes(C[0:LANES])
        for i in range(0, LANES):
            for k in range(0, 4):
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
