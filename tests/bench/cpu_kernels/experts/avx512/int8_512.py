# VNNI: a step takes four products of bytes for each of 16 sums. A tile of 4 rows by 2 vectors; 16 steps are written out. The second matrix lies in
# panels of four steps by 16 columns.
# Found by search.


def dense(sch):
    T_matmul_NT = sch.get_block("T_matmul_NT", func_name="dense")
    sums = sch.cache_write(T_matmul_NT, 0, "register")
    i, j, k = sch.get_loops(T_matmul_NT)
    i0, i1, i2 = sch.split(i, [2, 64, 4])
    j0, j1 = sch.split(j, [None, 16])
    j0_0, j0_1, j0_2 = sch.split(j0, [2, 8, 2])
    k0, k1 = sch.split(k, [None, 4])
    k0_0, k0_1 = sch.split(k0, [8, 16])
    sch.reorder(i0, j0_0, i1, j0_1, k0_0, k0_1, i2, j0_2, j1, k1)
    sch.reverse_compute_at(sums, j0_1, preserve_unit_loops=True)
    _, _, _, _, sums_ax4, sums_ax5 = sch.get_loops(sums)
    sums_ax5_0, sums_ax5_1 = sch.split(sums_ax5, [None, 16])
    sch.reorder(sums_ax4, sums_ax5_0, sums_ax5_1)
    sch.vectorize(sums_ax5_1)
    sch.unroll(sums_ax4)
    sch.unroll(sums_ax5_0)
    sch.unroll(i2)
    sch.unroll(j0_2)
    sch.unroll(k0_1)
    task = sch.fuse(i0, j0_0)
    sch.parallel(task)
    init = sch.decompose_reduction(T_matmul_NT, k0_0)
    _, _, _, _, _, init_ax5 = sch.get_loops(init)
    sch.vectorize(init_ax5)
    b41 = sch.blockize(target=j1)
    sch.annotate(block_or_loop=b41, ann_key="meta_schedule.auto_tensorize", ann_val="dot_16x4_vnni")
