# Reals, lists, maps.
# apply:
b0 = sch.get_block(name="C", func_name="main")
sch.annotate(block_or_loop=b0, ann_key="real", ann_val=0.5)
sch.annotate(block_or_loop=b0, ann_key="numbers", ann_val=[1, 2])
sch.annotate(block_or_loop=b0, ann_key="names", ann_val=["x", "y"])
sch.annotate(block_or_loop=b0, ann_key="mixed", ann_val=[0.5, 1])
sch.annotate(block_or_loop=b0, ann_key="map", ann_val={"k": 1, "l": ["x", 2]})
l1, l2 = sch.get_loops(block=b0)
sch.annotate(block_or_loop=l1, ann_key="numbers", ann_val=[3, 4])
# before and expected:
@T.prim_func
def before(A: T.Buffer((14, 16), "float32"), C: T.Buffer((14, 16), "float32")):
    B = T.alloc_buffer((14, 16), "float32")
    for i, j in T.grid(14, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for i, j in T.grid(14, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] + T.float32(1.0)
@T.prim_func
def expected(A: T.Buffer((14, 16), "float32"), C: T.Buffer((14, 16), "float32")):
    B = T.alloc_buffer((14, 16), "float32")
    for i, j in T.grid(14, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2.0)
    for i in T.serial(14, annotations={"numbers": [3, 4]}):
        for j in range(16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(B[vi, vj])
                T.writes(C[vi, vj])
                T.block_attr({"map": {"k": 1, "l": ["x", 2]}, "mixed": [0.5, 1], "names": ["x", "y"], "numbers": [1, 2], "real": 0.5})
                C[vi, vj] = B[vi, vj] + T.float32(1.0)
