# The loop runs under the condition that it does not name.
# pass: insert_hoist_if_then_else
from tvm.script import tir as T

@T.prim_func
def main(B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in range(8):
            if i < 5 and j < 3:
                B[i, j] = T.float32(1)
# expected:
@T.prim_func
def main(B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        if i < 5:
            for j in range(8):
                if j < 3:
                    B[i, j] = T.float32(1.0)
