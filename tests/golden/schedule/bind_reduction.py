# Threads of a group may make one result together.
# apply:
b0 = sch.get_block(name="B", func_name="main")
l1, l2 = sch.get_loops(block=b0)
sch.bind(loop=l2, thread_axis="threadIdx.x")
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32")):
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi])
            with T.init():
                B[vi] = T.float32(0.0)
            B[vi] = B[vi] + A[vi, vj]
@T.prim_func
def expected(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("B"):
                vi, vj = T.axis.remap("SR", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(0.0)
                B[vi] = B[vi] + A[vi, vj]
