# Indices that are taken apart look as the map makes them.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.transform_layout(block=b0, buffer=("write", 0), index_map=lambda i: (i // 64, i % 64))
# before and expected:
@T.prim_func
def before(A: T.Buffer((4, 16, 16), "float32"), C: T.Buffer((1024,), "float32")):
    B = T.alloc_buffer((1024,), "float32")
    for i, j, k in T.grid(4, 16, 16):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            T.reads(A[vi, vj, vk])
            T.writes(B[vi * 256 + vj * 16 + vk])
            B[vi * 256 + vj * 16 + vk] = A[vi, vj, vk] * T.float32(2.0)
    for i in range(1024):
        with T.block("C"):
            vi = T.axis.spatial(1024, i)
            T.reads(B[vi])
            T.writes(C[vi])
            C[vi] = B[vi] + T.float32(1.0)
@T.prim_func
def expected(A: T.Buffer((4, 16, 16), "float32"), C: T.Buffer((1024,), "float32")):
    B = T.alloc_buffer((16, 64), "float32")
    for i, j, k in T.grid(4, 16, 16):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            T.reads(A[vi, vj, vk])
            T.writes(B[vi * 4 + (vj * 16 + vk) // 64, (vj * 16 + vk) % 64])
            B[vi * 4 + (vj * 16 + vk) // 64, (vj * 16 + vk) % 64] = A[vi, vj, vk] * T.float32(2.0)
    for i in range(1024):
        with T.block("C"):
            vi = T.axis.spatial(1024, i)
            T.reads(B[vi // 64, vi % 64])
            T.writes(C[vi])
            C[vi] = B[vi // 64, vi % 64] + T.float32(1.0)
