# Indices are in TVM's form: what is not affine with the others stays as the map says, and a variable stays one.
# apply:
b0 = sch.get_block(name="relu", func_name="main")
sch.transform_layout(block=b0, buffer=("write", 0), index_map=lambda n, c, w: (n, c // 4, w, c % 4), pad_value=lambda n, c, w, b: T.float32(0.0))
# before and expected:
@T.prim_func
def before(X: T.Buffer((1, 3, 18), "float32"), Y: T.Buffer((1, 16), "float32")):
    R = T.alloc_buffer((1, 3, 18), "float32")
    for n, c, w in T.grid(1, 3, 18):
        with T.block("relu"):
            vn, vc, vw = T.axis.remap("SSS", [n, c, w])
            T.reads(X[vn, vc, vw])
            T.writes(R[vn, vc, vw])
            R[vn, vc, vw] = T.max(X[vn, vc, vw], T.float32(0.0))
    for n, w, c, kw in T.grid(1, 16, 3, 3):
        with T.block("sum"):
            vn, vw, vc, vkw = T.axis.remap("SSRR", [n, w, c, kw])
            T.reads(R[vn, vc, vw + vkw])
            T.writes(Y[vn, vw])
            with T.init():
                Y[vn, vw] = T.float32(0.0)
            Y[vn, vw] = Y[vn, vw] + R[vn, vc, vw + vkw]
@T.prim_func
def expected(X: T.Buffer((1, 3, 18), "float32"), Y: T.Buffer((1, 16), "float32")):
    R = T.alloc_buffer((1, 1, 18, 4), "float32")
    for n, axis1, w, axis3 in T.grid(1, 1, 18, 4):
        with T.block("relu"):
            v_n, v_axis1, v_w, v_axis3 = T.axis.remap("SSSS", [n, axis1, w, axis3])
            T.reads(X[v_n, v_axis1 * 4 + v_axis3, v_w])
            T.writes(R[v_n, v_axis1, v_w, v_axis3])
            R[v_n, v_axis1, v_w, v_axis3] = T.if_then_else(v_axis3 == 3, T.float32(0.0), T.max(X[v_n, v_axis1 * 4 + v_axis3, v_w], T.float32(0.0)))
    for n, w, c, kw in T.grid(1, 16, 3, 3):
        with T.block("sum"):
            vn, vw, vc, vkw = T.axis.remap("SSRR", [n, w, c, kw])
            T.reads(R[vn, vc // 4, vw + vkw, vc % 4])
            T.writes(Y[vn, vw])
            with T.init():
                Y[vn, vw] = T.float32(0.0)
            Y[vn, vw] = Y[vn, vw] + R[vn, vc // 4, vw + vkw, vc % 4]
