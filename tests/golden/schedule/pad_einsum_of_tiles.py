# An iter var that is padded is a loop variable (TVM accepts tiles).
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2, l3 = sch.get_loops(block=b0)
l4, l5 = sch.split(loop=l1, factors=[None, 5])
sch.pad_einsum(block=b0, padding=[8, 8, 8])
# fails: iter var "i" is not bound to a loop over its domain
# before and expected:
@T.prim_func
def before(A: T.Buffer((15, 12), "float32"), B: T.Buffer((12, 10), "float32"), C: T.Buffer((15, 10), "float32")):
    for i0, i1, i2 in T.grid(15, 10, 12):
        with T.block("C"):
            i, j, k = T.axis.remap("SSR", [i0, i1, i2])
            with T.init():
                C[i, j] = T.float32(0)
            C[i, j] = C[i, j] + A[i, k] * B[k, j]
