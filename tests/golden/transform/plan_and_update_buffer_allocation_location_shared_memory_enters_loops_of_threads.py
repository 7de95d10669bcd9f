# What the threads fetch together for one k lives as long as that k, inside of the loops over threads.
# pass: plan_and_update_buffer_allocation_location
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8, 64), scope="shared")
    for t in T.thread_binding(8, thread="threadIdx.x"):
        for k in range(4):
            for j in range(16):
                for u in T.thread_binding(8, thread="threadIdx.x"):
                    with T.block("fetch"):
                        vu = T.axis.spatial(8, u)
                        vj = T.axis.spatial(64, k * 16 + j)
                        S[vu, vj] = A[vu, vj]
            for j in range(16):
                with T.block("use"):
                    vt = T.axis.spatial(8, t)
                    vj = T.axis.spatial(64, k * 16 + j)
                    B[vt] = S[7 - vt, vj]
# expected:
@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), B: T.Buffer((8,), "float32")):
    for t in T.thread_binding(8, thread="threadIdx.x"):
        for k in range(4):
            with T.block(""):
                S = T.alloc_buffer((8, 64), "float32", scope="shared")
                T.reads(A[0:8, k * 16:k * 16 + 16])
                T.writes(B[t])
                for j in range(16):
                    for u in T.thread_binding(8, thread="threadIdx.x"):
                        with T.block("fetch"):
                            vu = T.axis.spatial(8, u)
                            vj = T.axis.spatial(64, k * 16 + j)
                            T.reads(A[vu, vj])
                            T.writes(S[vu, vj])
                            S[vu, vj] = A[vu, vj]
                for j in range(16):
                    with T.block("use"):
                        vt = T.axis.spatial(8, t)
                        vj = T.axis.spatial(64, k * 16 + j)
                        T.reads(S[7 - vt, vj])
                        T.writes(B[vt])
                        B[vt] = S[7 - vt, vj]
