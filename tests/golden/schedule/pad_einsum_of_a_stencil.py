# Indices are iter vars.
# apply:
b0 = sch.get_block(name="C", func_name="main")
sch.pad_einsum(block=b0, padding=[8, 8, 8])
# fails: index 0 of buffer "A" is neither an iter var nor a constant
# before and expected:
@T.prim_func
def before(A: T.Buffer((26, 12), "float32"), B: T.Buffer((12, 10), "float32"), C: T.Buffer((15, 10), "float32")):
    for i0, i1, i2 in T.grid(15, 10, 12):
        with T.block("C"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            with T.init():
                C[i, j] = T.float32(0)
            C[i, j] = C[i, j] + A[i + k, k] * B[k, j]
