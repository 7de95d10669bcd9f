# Two outputs at once, by a reducer of pairs.
# apply:
b0 = sch.get_block(name="C", func_name="main")
l1, l2 = sch.get_loops(block=b0)
l3, l4 = sch.split(loop=l2, factors=[None, 8])
b5 = sch.rfactor(loop=l4, factor_axis=1)
# before and expected:
@T.prim_func
def before(idx: T.Buffer((16, 32), "int32"), val: T.Buffer((16, 32), "float32"), best: T.Buffer((16,), "int32"), most: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 32):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(val[vi, vk], idx[vi, vk])
            T.writes(best[vi], most[vi])
            with T.init():
                best[vi] = -1
                most[vi] = T.float32(-3.4028234663852886e+38)
            v_best: T.int32 = T.Select(most[vi] >= val[vi, vk], best[vi], idx[vi, vk])
            v_most: T.float32 = T.Select(most[vi] >= val[vi, vk], most[vi], val[vi, vk])
            best[vi] = v_best
            most[vi] = v_most
@T.prim_func
def expected(idx: T.Buffer((16, 32), "int32"), val: T.Buffer((16, 32), "float32"), best: T.Buffer((16,), "int32"), most: T.Buffer((16,), "float32")):
    best_rf = T.alloc_buffer((16, 8), "int32")
    most_rf = T.alloc_buffer((16, 8), "float32")
    for i, k_0, k_1 in T.grid(16, 4, 8):
        with T.block("C_rf"):
            vk_1, vi, vk_0 = T.axis.remap("SSR", [k_1, i, k_0])
            T.reads(val[vi, vk_0 * 8 + vk_1], idx[vi, vk_0 * 8 + vk_1])
            T.writes(best_rf[vi, vk_1], most_rf[vi, vk_1])
            with T.init():
                best_rf[vi, vk_1] = -1
                most_rf[vi, vk_1] = T.float32(-3.4028234663852886e+38)
            v_best: T.int32 = T.Select(most_rf[vi, vk_1] >= val[vi, vk_0 * 8 + vk_1], best_rf[vi, vk_1], idx[vi, vk_0 * 8 + vk_1])
            v_most: T.float32 = T.Select(most_rf[vi, vk_1] >= val[vi, vk_0 * 8 + vk_1], most_rf[vi, vk_1], val[vi, vk_0 * 8 + vk_1])
            best_rf[vi, vk_1] = v_best
            most_rf[vi, vk_1] = v_most
    for i, k_1 in T.grid(16, 8):
        with T.block("C"):
            vk_1, vi = T.axis.remap("RS", [k_1, i])
            T.reads(best_rf[vi, vk_1], most_rf[vi, vk_1])
            T.writes(best[vi], most[vi])
            with T.init():
                best[vi] = -1
                most[vi] = T.float32(-3.4028234663852886e+38)
            v_best: T.int32 = T.Select(most[vi] >= most_rf[vi, vk_1], best[vi], best_rf[vi, vk_1])
            v_most: T.float32 = T.Select(most[vi] >= most_rf[vi, vk_1], most[vi], most_rf[vi, vk_1])
            best[vi] = v_best
            most[vi] = v_most
