# Rows are blocks of threads, columns threads.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
sch.bind(loop=l1, thread_axis="blockIdx.x")
sch.bind(loop=l2, thread_axis="threadIdx.x")
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj]
@T.prim_func
def expected(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i in T.thread_binding(16, thread="blockIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj]
