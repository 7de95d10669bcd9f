# The second matrix is known, so that it lies in panels of four vectors. A tile of 4 rows by 4 vectors: 16 sums hide 4 cycles of latency at one
# multiply-add of 512 bits a cycle, and a step loads 4 vectors and 4 broadcasts for 16 of them. The panels that a task walks through, 8 vectors by
# 512 steps, are 256 KB: half of the second cache.
# Found by search. Tiles of 8 x 2 (0.98 x), 16 x 1 (0.98 x) and 4 x 4 with half the panels a task (0.99 x) are what a hand would try next.


def dense(sch):
    T_matmul_NT = sch.get_block("T_matmul_NT", func_name="dense")
    sums = sch.cache_write(T_matmul_NT, 0, "register")
    i, j, k = sch.get_loops(T_matmul_NT)
    i0, i1, i2 = sch.split(i, [4, 32, 4])
    j0, j1 = sch.split(j, [None, 16])
    j0_0, j0_1, j0_2 = sch.split(j0, [4, 2, 4])
    k0, k1 = sch.split(k, [64, 8])
    sch.reorder(i0, j0_0, i1, j0_1, k0, k1, i2, j0_2, j1)
    sch.reverse_compute_at(sums, j0_1, preserve_unit_loops=True)
    _, _, _, _, sums_ax4, sums_ax5 = sch.get_loops(sums)
    sums_ax5_0, sums_ax5_1 = sch.split(sums_ax5, [None, 16])
    sch.reorder(sums_ax4, sums_ax5_0, sums_ax5_1)
    sch.vectorize(sums_ax5_1)
    sch.unroll(sums_ax4)
    sch.unroll(sums_ax5_0)
    sch.vectorize(j1)
    sch.unroll(i2)
    sch.unroll(j0_2)
    sch.unroll(k1)
    task = sch.fuse(i0, j0_0)
    sch.parallel(task)
    _ = sch.decompose_reduction(T_matmul_NT, k0)
