# The description says what types buffers have.
# apply:
b0 = sch.get_block(name="C_local", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
l4, l5 = sch.split(loop=l3, factors=[None, 4])
b6 = sch.decompose_reduction(block=b0, loop=l4)
sch.tensorize(block_or_loop=l5, tensor_intrin="dp4a_s8u8s32")
# fails: buffer "B_shared" is int8, "B" of the description is uint8
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "int8"), B: T.Buffer((16, 32), "int8"), C: T.Buffer((16, 16), "int32")):
    A_shared = T.alloc_buffer((16, 32), "int8", scope="shared")
    B_shared = T.alloc_buffer((16, 32), "int8", scope="shared")
    C_local = T.alloc_buffer((16, 16), "int32", scope="local")
    for i, j in T.grid(16, 32):
        with T.block("A_shared"):
            vi, vj = T.axis.remap("SS", [i, j])
            A_shared[vi, vj] = A[vi, vj]
    for i, j in T.grid(16, 32):
        with T.block("B_shared"):
            vi, vj = T.axis.remap("SS", [i, j])
            B_shared[vi, vj] = B[vi, vj]
    for i, j, k in T.grid(16, 16, 32):
        with T.block("C_local"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C_local[vi, vj] = 0
            C_local[vi, vj] = C_local[vi, vj] + T.Cast("int32", A_shared[vi, vk]) * T.Cast("int32", B_shared[vj, vk])
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = C_local[vi, vj]
