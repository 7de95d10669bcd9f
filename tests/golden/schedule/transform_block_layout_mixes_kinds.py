# One iter var cannot do both.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.transform_block_layout(block=b0, index_map=lambda i, k: (i * 32 + k,))
# fails: mixes data-parallel and reduction iter vars
# before and expected:
@T.prim_func
def before(A: T.Buffer((14, 32), "int32"), B: T.Buffer((14,), "int32")):
    for i, k in T.grid(14, 32):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
