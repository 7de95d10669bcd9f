# NCHW convolution of ResNet's first stage with padding, bias and relu, as FuseTIR leaves it.
@T.prim_func
def main(data: T.Buffer((1, 64, 56, 56), "float32"), weight: T.Buffer((64, 64, 3, 3), "float32"), bias: T.Buffer((1, 64, 1, 1), "float32"), out: T.Buffer((1, 64, 56, 56), "float32")):
    pad_temp = T.alloc_buffer((1, 64, 58, 58))
    conv = T.alloc_buffer((1, 64, 56, 56))
    added = T.alloc_buffer((1, 64, 56, 56))
    for i0, i1, i2, i3 in T.grid(1, 64, 58, 58):
        with T.block("pad_temp"):
            v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            pad_temp[v_i0, v_i1, v_i2, v_i3] = T.if_then_else(1 <= v_i2 and v_i2 < 57 and 1 <= v_i3 and v_i3 < 57, data[v_i0, v_i1, v_i2 - 1, v_i3 - 1], T.float32(0))
    for nn, ff, yy, xx, rc, ry, rx in T.grid(1, 64, 56, 56, 64, 3, 3):
        with T.block("conv2d_nchw"):
            v_nn, v_ff, v_yy, v_xx, v_rc, v_ry, v_rx = T.axis.remap("SSSSRRR", [nn, ff, yy, xx, rc, ry, rx])
            with T.init():
                conv[v_nn, v_ff, v_yy, v_xx] = T.float32(0)
            conv[v_nn, v_ff, v_yy, v_xx] = conv[v_nn, v_ff, v_yy, v_xx] + pad_temp[v_nn, v_rc, v_yy + v_ry, v_xx + v_rx] * weight[v_ff, v_rc, v_ry, v_rx]
    for ax0, ax1, ax2, ax3 in T.grid(1, 64, 56, 56):
        with T.block("T_add"):
            v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            added[v_ax0, v_ax1, v_ax2, v_ax3] = conv[v_ax0, v_ax1, v_ax2, v_ax3] + bias[v_ax0, v_ax1, 0, 0]
    for ax0, ax1, ax2, ax3 in T.grid(1, 64, 56, 56):
        with T.block("T_relu"):
            v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            out[v_ax0, v_ax1, v_ax2, v_ax3] = T.max(added[v_ax0, v_ax1, v_ax2, v_ax3], T.float32(0))
