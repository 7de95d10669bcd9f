# A loop that feeds an iter var with another one keeps its length; the copy gets a predicate.
# apply:
b0 = sch.get_block(name="pad", func_name="main")
l1, = sch.get_loops(block=b0)
l2, l3 = sch.split(loop=l1, factors=[10, 14])
b4 = sch.decompose_padding(block=b0, loop=l3)
# before and expected:
@T.prim_func
def before(x: T.Buffer((128,), "int32"), y: T.Buffer((140,), "int32")):
    for i in range(140):
        with T.block("pad"):
            vi = T.axis.spatial(140, i)
            T.reads(x[vi - 6])
            T.writes(y[vi])
            y[vi] = T.if_then_else(vi >= 6 and vi < 134, x[vi - 6], 0)
@T.prim_func
def expected(x: T.Buffer((128,), "int32"), y: T.Buffer((140,), "int32")):
    for i_0 in range(10):
        for i_1 in range(14):
            with T.block("pad_pad_const"):
                vi = T.axis.spatial(140, i_0 * 14 + i_1)
                T.reads()
                T.writes(y[vi])
                y[vi] = 0
        for i_1 in range(14):
            with T.block("pad"):
                vi = T.axis.spatial(128, i_0 * 14 + i_1 - 6)
                T.where(6 <= i_0 * 14 + i_1 and i_0 * 14 + i_1 < 134)
                T.reads(x[vi])
                T.writes(y[vi + 6])
                y[vi + 6] = x[vi]
