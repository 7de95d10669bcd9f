# The block reads one buffer.
# apply:
b0 = sch.get_block(name="B", func_name="main")
b1 = sch.reindex(block=b0, buffer=("read", 1))
# fails: it has 1 read regions, index 1 is not among them
# before and expected:
@T.prim_func
def before(A: T.Buffer((32, 16), "float32"), B: T.Buffer((16, 32), "float32")):
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * 2.0
