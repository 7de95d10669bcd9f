# Zeros may be the largest (TVM accepts this).
# apply:
b0 = sch.get_block(name="C", func_name="main")
sch.pad_einsum(block=b0, padding=[8, 8, 8])
# fails: no sum of products that zeros leave
# before and expected:
@T.prim_func
def before(A: T.Buffer((15, 12), "float32"), B: T.Buffer((12, 10), "float32"), C: T.Buffer((15, 10), "float32")):
    for i0, i1, i2 in T.grid(15, 10, 12):
        with T.block("C"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            with T.init():
                C[i, j] = T.min_value("float32")
            C[i, j] = T.max(C[i, j], A[i, k] * B[k, j])
