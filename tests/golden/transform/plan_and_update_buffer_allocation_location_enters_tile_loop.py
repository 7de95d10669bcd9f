# All uses of T are in one iteration of i: it moves there.
# pass: plan_and_update_buffer_allocation_location
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    T_1 = T.alloc_buffer((128,))
    for i in range(16):
        for j in range(8):
            with T.block("produce"):
                v = T.axis.spatial(128, i * 8 + j)
                T_1[v] = A[v] * T.float32(2)
        for k in range(8):
            with T.block("consume"):
                v = T.axis.spatial(128, i * 8 + k)
                B[v] = T_1[v] + T.float32(1)
# expected:
@T.prim_func
def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for i in range(16):
        with T.block(""):
            T_1 = T.alloc_buffer((128,), "float32")
            T.reads(A[i * 8:i * 8 + 8])
            T.writes(B[i * 8:i * 8 + 8])
            for j in range(8):
                with T.block("produce"):
                    v = T.axis.spatial(128, i * 8 + j)
                    T.reads(A[v])
                    T.writes(T_1[v])
                    T_1[v] = A[v] * T.float32(2.0)
            for k in range(8):
                with T.block("consume"):
                    v = T.axis.spatial(128, i * 8 + k)
                    T.reads(T_1[v])
                    T.writes(B[v])
                    B[v] = T_1[v] + T.float32(1.0)
