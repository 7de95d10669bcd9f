# What a condition on an iter var keeps from being read is not kept from it in the padding.
# apply:
b0 = sch.get_block(name="C", func_name="main")
sch.pad_einsum(block=b0, padding=[4])
# fails: index 0 of buffer "A" is inside under a condition alone
# before and expected:
@T.prim_func
def before(A: T.Buffer((2,), "int8"), C: T.Buffer((1,), "int8")):
    for i in range(1):
        with T.block("C"):
            vi = T.axis.spatial(1, i)
            C[vi] = T.if_then_else(1 <= vi, A[-1], T.int8(0))
