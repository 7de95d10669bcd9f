# AVX-512-BF16: a step takes two products for each of 16 sums in float32, which are rounded when they are stored. A tile of 4 rows by 4 vectors.
# The second matrix lies in panels of two steps by 16 columns.
# Found by search.


def dense(sch):
    T_matmul_NT = sch.get_block("T_matmul_NT", func_name="dense")
    sums = sch.cache_write(T_matmul_NT, 0, "register")
    sch.compute_inline(sums)
    T_cast = sch.get_block("T_cast", func_name="dense")
    i, j, k = sch.get_loops(T_matmul_NT)
    i0, i1, i2 = sch.split(i, [16, 8, 4])
    j0, j1 = sch.split(j, [None, 16])
    j0_0, j0_1, j0_2 = sch.split(j0, [8, 1, 4])
    k0, k1 = sch.split(k, [None, 2])
    k0_0, k0_1 = sch.split(k0, [64, 4])
    sch.reorder(i0, j0_0, i1, j0_1, k0_0, k0_1, i2, j0_2, j1, k1)
    sch.reverse_compute_at(T_cast, j0_1, preserve_unit_loops=True)
    _, _, _, _, T_cast_ax4, T_cast_ax5 = sch.get_loops(T_cast)
    T_cast_ax5_0, T_cast_ax5_1 = sch.split(T_cast_ax5, [None, 16])
    sch.reorder(T_cast_ax4, T_cast_ax5_0, T_cast_ax5_1)
    sch.vectorize(T_cast_ax5_1)
    sch.unroll(T_cast_ax4)
    sch.unroll(T_cast_ax5_0)
    sch.unroll(i2)
    sch.unroll(j0_2)
    sch.unroll(k0_1)
    task = sch.fuse(i0, j0_0)
    sch.parallel(task)
    init = sch.decompose_reduction(T_matmul_NT, k0_0)
    _, _, _, _, _, init_ax5 = sch.get_loops(init)
    sch.vectorize(init_ax5)
    b42 = sch.blockize(target=j1)
    sch.annotate(block_or_loop=b42, ann_key="meta_schedule.auto_tensorize", ann_val="dot_16x2_avx512bf16")
