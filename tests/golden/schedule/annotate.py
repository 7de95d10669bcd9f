# Loops and blocks carry values.
# apply:
b0 = sch.get_block("copy")
l1, l2 = sch.get_loops(b0)
sch.annotate(l1, "pragma_auto_unroll_max_step", 16)
sch.annotate(b0, "note", "hello")
# before and expected:
@T.prim_func
def before(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i, j in T.grid(8, 16):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] + T.float32(1.0)
@T.prim_func
def expected(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
    for i in T.serial(8, annotations={"pragma_auto_unroll_max_step": 16}):
        for j in range(16):
            with T.block("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                T.block_attr({"note": "hello"})
                B[vi, vj] = A[vi, vj] + T.float32(1.0)
