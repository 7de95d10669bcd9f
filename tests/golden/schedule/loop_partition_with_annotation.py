# As split refuses it.
# apply:
b0 = sch.get_block(name="C")
l1, l2 = sch.get_loops(b0)
sch.annotate(l1, "pragma", 1)
l3, l4 = sch.loop_partition(l1, [4, None])
# fails: the loop carries annotation "pragma"
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
