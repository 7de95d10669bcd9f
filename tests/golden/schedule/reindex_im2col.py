# Each iter var of an index becomes an axis; those that are no index do not.
# apply:
b0 = sch.get_block(name="C", func_name="main")
b1 = sch.reindex(block=b0, buffer=("read", 0))
b2 = sch.reindex(block=b0, buffer=("read", 1))
b3 = sch.reindex(block=b0, buffer=("write", 0))
# before and expected:
@T.prim_func
def before(A: T.Buffer((1, 10, 10, 4), "float32"), W: T.Buffer((3, 3, 4, 8), "float32"), C: T.Buffer((1, 8, 8, 8), "float32")):
    for n, h, w, c, r, s, k in T.grid(1, 8, 8, 8, 3, 3, 4):
        with T.block("C"):
            vn, vh, vw, vc, vr, vs, vk = T.axis.remap("SSSSRRR", [n, h, w, c, r, s, k])
            T.reads(A[vn, vh + vr, vw + vs, vk], W[vr, vs, vk, vc])
            T.writes(C[vn, vh, vw, vc])
            with T.init():
                C[vn, vh, vw, vc] = T.float32(0.0)
            C[vn, vh, vw, vc] = C[vn, vh, vw, vc] + A[vn, vh + vr, vw + vs, vk] * W[vr, vs, vk, vc]
@T.prim_func
def expected(A: T.Buffer((1, 10, 10, 4), "float32"), W: T.Buffer((3, 3, 4, 8), "float32"), C: T.Buffer((1, 8, 8, 8), "float32")):
    A_reindex = T.alloc_buffer((1, 8, 8, 3, 3, 4), "float32")
    W_reindex = T.alloc_buffer((8, 3, 3, 4), "float32")
    C_reindex = T.alloc_buffer((1, 8, 8, 8), "float32")
    for ax0, ax1, ax2, ax3, ax4, ax5 in T.grid(1, 8, 8, 3, 3, 4):
        with T.block("A_reindex_reindex"):
            v0, v1, v2, v3, v4, v5 = T.axis.remap("SSSSSS", [ax0, ax1, ax2, ax3, ax4, ax5])
            T.reads(A[v0, v1 + v3, v2 + v4, v5])
            T.writes(A_reindex[v0, v1, v2, v3, v4, v5])
            A_reindex[v0, v1, v2, v3, v4, v5] = A[v0, v1 + v3, v2 + v4, v5]
    for ax0, ax1, ax2, ax3 in T.grid(8, 3, 3, 4):
        with T.block("W_reindex_reindex"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            T.reads(W[v1, v2, v3, v0])
            T.writes(W_reindex[v0, v1, v2, v3])
            W_reindex[v0, v1, v2, v3] = W[v1, v2, v3, v0]
    for n, h, w, c, r, s, k in T.grid(1, 8, 8, 8, 3, 3, 4):
        with T.block("C"):
            vn, vh, vw, vc, vr, vs, vk = T.axis.remap("SSSSRRR", [n, h, w, c, r, s, k])
            T.reads(A_reindex[vn, vh, vw, vr, vs, vk], W_reindex[vc, vr, vs, vk])
            T.writes(C_reindex[vn, vh, vw, vc])
            with T.init():
                C_reindex[vn, vh, vw, vc] = T.float32(0.0)
            C_reindex[vn, vh, vw, vc] = C_reindex[vn, vh, vw, vc] + A_reindex[vn, vh, vw, vr, vs, vk] * W_reindex[vc, vr, vs, vk]
    for ax0, ax1, ax2, ax3 in T.grid(1, 8, 8, 8):
        with T.block("C_reindex"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            T.reads(C_reindex[v0, v1, v2, v3])
            T.writes(C[v0, v1, v2, v3])
            C[v0, v1, v2, v3] = C_reindex[v0, v1, v2, v3]
