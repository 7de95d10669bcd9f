# A block that says which intrinsic it is becomes it: with accumulators in registers, and factors in either order.
# pass: rewrite_tensorize
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((4, 8), "uint8"), B: T.Buffer((2, 16, 4), "int8"), D: T.Buffer((4, 16), "int32")):
    C = T.alloc_buffer((4, 16), "int32", scope="register")
    for i, k in T.grid(4, 2):
        with T.block("C_o"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(C[vi, 0:16], B[vk, 0:16, 0:4], A[vi, vk * 4:vk * 4 + 4])
            T.writes(C[vi, 0:16])
            T.block_attr({"meta_schedule.auto_tensorize": "dot_16x4_vnni"})
            for j, p in T.grid(16, 4):
                with T.block("C"):
                    vj, vp = T.axis.remap("SR", [j, p])
                    T.reads(C[vi, vj], B[vk, vj, vp], A[vi, vk * 4 + vp])
                    T.writes(C[vi, vj])
                    C[vi, vj] = C[vi, vj] + T.Cast("int32", B[vk, vj, vp]) * T.Cast("int32", A[vi, vk * 4 + vp])
    for i, j in T.grid(4, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj]
# expected:
@T.prim_func
def main(A: T.Buffer((4, 8), "uint8"), B: T.Buffer((2, 16, 4), "int8"), D: T.Buffer((4, 16), "int32")):
    C = T.alloc_buffer((4, 16), "int32", scope="register")
    for i, k in T.grid(4, 2):
        with T.block("C_o"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(C[vi, 0:16], A[vi, vk * 4:vk * 4 + 4], B[vk, 0:16, 0:4])
            T.writes(C[vi, 0:16])
            A_elem_offset = T.int32()
            A_1 = T.match_buffer(A[vi, vk * 4:vk * 4 + 4], (4,), "uint8", elem_offset=A_elem_offset)
            B_elem_offset = T.int32()
            B_1 = T.match_buffer(B[vk, 0:16, 0:4], (16, 4), "int8", elem_offset=B_elem_offset)
            C_elem_offset = T.int32()
            C_1 = T.match_buffer(C[vi, 0:16], (16,), "int32", elem_offset=C_elem_offset, scope="register")
            A_u8x4: T.uint8x4 = A_1[T.Ramp(0, 1, 4)]
            A_i32: T.int32 = T.reinterpret("int32", A_u8x4)
            B_i8x64: T.int8x64 = B_1[0, T.Ramp(0, 1, 64)]
            B_i32x16: T.int32x16 = T.reinterpret("int32x16", B_i8x64)
            C_i32x16: T.int32x16 = C_1[T.Ramp(0, 1, 16)]
            C_1[T.Ramp(0, 1, 16)] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", C_i32x16, T.Broadcast(A_i32, 16), B_i32x16)
    for i, j in T.grid(4, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C[vi, vj])
            T.writes(D[vi, vj])
            D[vi, vj] = C[vi, vj]
