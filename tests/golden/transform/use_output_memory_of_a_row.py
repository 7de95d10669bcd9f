# A row of exponentials lies in the output from the beginning; tasks have rows of their own.
# pass: use_output_memory
from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((4, 8192), "float32"), B: T.Buffer((4, 8192), "float32")):
    for i in T.parallel(4):
        E = T.decl_buffer((8192,), scope="local")
        total = T.decl_buffer((1,), scope="local")
        for k in range(8192):
            E[k] = T.exp(A[i * 8192 + k])
        total[0] = T.float32(0)
        for k in range(8192):
            total[0] = total[0] + E[8191 - k]
        for k_0 in range(512):
            for k_1 in T.vectorized(16):
                B[i * 8192 + k_0 * 16 + k_1] = E[k_0 * 16 + k_1] / total[0]
# expected:
@T.prim_func
def main(A: T.Buffer((4, 8192), "float32"), B: T.Buffer((4, 8192), "float32")):
    for i in T.parallel(4):
        total = T.decl_buffer((1,), "float32", scope="local")
        for k in range(8192):
            B[i * 8192 + k] = T.exp(A[i * 8192 + k])
        total[0] = T.float32(0.0)
        for k in range(8192):
            total[0] = total[0] + B[i * 8192 + (8191 - k)]
        for k_0 in range(512):
            for k_1 in T.vectorized(16):
                B[i * 8192 + k_0 * 16 + k_1] = B[i * 8192 + (k_0 * 16 + k_1)] / total[0]
