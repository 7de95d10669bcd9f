@T.prim_func
def main(A: T.Buffer((256, 256), "float32"), norm: T.Buffer((256, 256), "float32")):
    maxelem = T.alloc_buffer((256,), "float32")
    exp = T.alloc_buffer((256, 256), "float32")
    expsum = T.alloc_buffer((256,), "float32")
    for i0, k in T.grid(256, 256):
        with T.block("maxelem"):
            v_i0, v_k = T.axis.remap("SR", [i0, k])
            with T.init():
                maxelem[v_i0] = T.float32("-inf")
            maxelem[v_i0] = T.max(maxelem[v_i0], A[v_i0, v_k])
    for i0, i1 in T.grid(256, 256):
        with T.block("exp"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            exp[v_i0, v_i1] = T.exp(A[v_i0, v_i1] - maxelem[v_i0])
    for i0, k in T.grid(256, 256):
        with T.block("expsum"):
            v_i0, v_k = T.axis.remap("SR", [i0, k])
            with T.init():
                expsum[v_i0] = 0.0
            expsum[v_i0] = expsum[v_i0] + exp[v_i0, v_k]
    for i0, i1 in T.grid(256, 256):
        with T.block("norm"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            T.block_attr({"axis": 1})
            norm[v_i0, v_i1] = exp[v_i0, v_i1] / expsum[v_i0]
