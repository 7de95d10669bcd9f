@T.prim_func
def main(data: T.Buffer((1, 32, 114, 114), "float32"), weight: T.Buffer((32, 1, 3, 3), "float32"), out: T.Buffer((1, 32, 112, 112), "float32")):
    for b, c, i, j, di, dj in T.grid(1, 32, 112, 112, 3, 3):
        with T.block("DepthwiseConv2d"):
            v_b, v_c, v_i, v_j, v_di, v_dj = T.axis.remap("SSSSRR", [b, c, i, j, di, dj])
            with T.init():
                out[v_b, v_c, v_i, v_j] = T.float32(0)
            out[v_b, v_c, v_i, v_j] += data[v_b, v_c, v_i + v_di, v_j + v_dj] * weight[v_c, 0, v_di, v_dj]
