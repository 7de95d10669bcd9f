# It writes one buffer.
# apply:
b0 = sch.get_block(name="B")
sch.unsafe_hide_buffer_access(b0, "write", [1])
# fails: it has 1 write regions, index 1 is not among them
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    B = T.alloc_buffer((16, 32))
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
