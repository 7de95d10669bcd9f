# Scopes have TVM's names.
# apply:
b0 = sch.get_block(name="B", func_name="main")
sch.set_scope(block=b0, buffer_index=0, storage_scope="foo")
# fails: "foo" is no storage scope; a scope begins with one of: global
# before and expected:
@T.prim_func
def before(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((16, 8))
    for i, j in T.grid(16, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
    for k, l in T.grid(16, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [k, l])
            C[vi, vj] = B[vi, vj]
