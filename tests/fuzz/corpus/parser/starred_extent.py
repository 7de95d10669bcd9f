@T.prim_func
def main(data: T.Buffer((1, 64, 112, 112), "float32"), out: T.Buffer((1, 64, 56, 56), "float32")):
    padded = T.alloc_buffer((1, 64, 114, 114), "float32")
    for n, c, h, w in T.grid(1, 64, 114, 114):
        with T.block("pad_temp"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            padded[vn, vc, vh, vw] = T.if_then_else(1 <= vh < 113 and 1 <= vw < 113, data[vn, vc, vh - 1, vw - 1], T.min_value("float32"))
    for n, c, h, w, kh, kw in T.grid(1, 64, 56,*.6, 3, 3):
        with T.block("pool_max"):
            vn, vc, vh, vw, vkh, vkw = T.axis.remap("SSSSRR", [n, c, h, w, kh, kw])
            T.block_attr({"schedule_rule": "meta_schedule.pool_max"})
            with T.init():
                out[vn, vc, vh, vw] = T.min_value("float32")
            out[vn, vc, vh, vw] = T.max(out[vn, vc, vh, vw], padded[vn, vc, vh * 1 * vkh, vw * 2 + vkw])
