# Rows outside the image are filled, not copied.
# apply:
b0 = sch.get_block(name="pad", func_name="main")
l1, l2, l3, l4 = sch.get_loops(block=b0)
b5 = sch.decompose_padding(block=b0, loop=l4)
# before and expected:
@T.prim_func
def before(x: T.Buffer((1, 8, 30, 30), "float32"), y: T.Buffer((1, 8, 34, 34), "float32")):
    for n, c, h, w in T.grid(1, 8, 34, 34):
        with T.block("pad"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            T.reads(x[vn, vc, vh - 2, vw - 2])
            T.writes(y[vn, vc, vh, vw])
            y[vn, vc, vh, vw] = T.if_then_else(2 <= vh and vh < 32 and 2 <= vw and vw < 32, x[vn, vc, vh - 2, vw - 2], T.float32(0.0))
@T.prim_func
def expected(x: T.Buffer((1, 8, 30, 30), "float32"), y: T.Buffer((1, 8, 34, 34), "float32")):
    for n, c, h in T.grid(1, 8, 34):
        for w in range(34):
            with T.block("pad_pad_const"):
                vn = T.axis.spatial(1, 0)
                vc, vh, vw = T.axis.remap("SSS", [c, h, w])
                T.reads()
                T.writes(y[vn, vc, vh, vw])
                y[vn, vc, vh, vw] = T.float32(0.0)
        for w in range(30):
            with T.block("pad"):
                vn = T.axis.spatial(1, 0)
                vc = T.axis.spatial(8, c)
                vh = T.axis.spatial(30, h - 2)
                vw = T.axis.spatial(30, w)
                T.where(2 <= h and h < 32)
                T.reads(x[vn, vc, vh, vw])
                T.writes(y[vn, vc, vh + 2, vw + 2])
                y[vn, vc, vh + 2, vw + 2] = x[vn, vc, vh, vw]
