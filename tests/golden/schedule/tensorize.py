# Four steps of the reduction become one instruction; the nest becomes a block first.
# apply:
b0 = sch.get_block(name="C_local", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
l4, l5 = sch.split(loop=l3, factors=[None, 4])
b6 = sch.decompose_reduction(block=b0, loop=l4)
sch.tensorize(block_or_loop=l5, tensor_intrin="dp4a_s8s8s32")
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "int8"), B: T.Buffer((16, 32), "int8"), C: T.Buffer((16, 16), "int32")):
    A_shared = T.alloc_buffer((16, 32), "int8", scope="shared")
    B_shared = T.alloc_buffer((16, 32), "int8", scope="shared")
    C_local = T.alloc_buffer((16, 16), "int32", scope="local")
    for i, j in T.grid(16, 32):
        with T.block("A_shared"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(A_shared[vi, vj])
            A_shared[vi, vj] = A[vi, vj]
    for i, j in T.grid(16, 32):
        with T.block("B_shared"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(B_shared[vi, vj])
            B_shared[vi, vj] = B[vi, vj]
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C_local"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A_shared[vi, vk], B_shared[vj, vk])
            T.writes(C_local[vi, vj])
            with T.init():
                C_local[vi, vj] = 0
            C_local[vi, vj] = C_local[vi, vj] + T.Cast("int32", A_shared[vi, vk]) * T.Cast("int32", B_shared[vj, vk])
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C_local[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = C_local[vi, vj]
@T.prim_func
def expected(A: T.Buffer((16, 32), "int8"), B: T.Buffer((16, 32), "int8"), C: T.Buffer((16, 16), "int32")):
    A_shared = T.alloc_buffer((16, 32), "int8", scope="shared")
    B_shared = T.alloc_buffer((16, 32), "int8", scope="shared")
    C_local = T.alloc_buffer((16, 16), "int32", scope="local")
    for i, j in T.grid(16, 32):
        with T.block("A_shared"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(A_shared[vi, vj])
            A_shared[vi, vj] = A[vi, vj]
    for i, j in T.grid(16, 32):
        with T.block("B_shared"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(B_shared[vi, vj])
            B_shared[vi, vj] = B[vi, vj]
    for i, j in T.grid(16, 16):
        with T.block("C_local_init"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(C_local[vi, vj])
            C_local[vi, vj] = 0
        for k_0 in range(8):
            with T.block("C_local_update_o"):
                vi_o, vj_o, vk_o = T.axis.remap("SSR", [i, j, k_0])
                T.reads(C_local[vi_o, vj_o], A_shared[vi_o, vk_o * 4:vk_o * 4 + 4], B_shared[vj_o, vk_o * 4:vk_o * 4 + 4])
                T.writes(C_local[vi_o, vj_o])
                A_elem_offset = T.int32()
                A_1 = T.match_buffer(A_shared[vi_o, vk_o * 4:vk_o * 4 + 4], (4,), "int8", elem_offset=A_elem_offset, scope="shared", align=4)
                B_elem_offset = T.int32()
                B_1 = T.match_buffer(B_shared[vj_o, vk_o * 4:vk_o * 4 + 4], (4,), "int8", elem_offset=B_elem_offset, scope="shared", align=4)
                C_elem_offset = T.int32()
                C_1 = T.match_buffer(C_local[vi_o, vj_o], (1,), "int32", elem_offset=C_elem_offset, scope="local", align=4)
                C_1[0] = C_1[0] + T.call_pure_extern("int32", "__dp4a", A_1[T.Ramp(0, 1, 4)], B_1[T.Ramp(0, 1, 4)], 0)
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(C_local[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = C_local[vi, vj]
