# The copy runs over what is inside alone.
# apply:
b0 = sch.get_block(name="pad", func_name="main")
l1, = sch.get_loops(block=b0)
b2 = sch.decompose_padding(block=b0, loop=l1)
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
    for i in range(140):
        with T.block("pad_pad_const"):
            vi = T.axis.spatial(140, i)
            T.reads()
            T.writes(y[vi])
            y[vi] = 0
    for i in range(128):
        with T.block("pad"):
            vi = T.axis.spatial(128, i)
            T.reads(x[vi])
            T.writes(y[vi + 6])
            y[vi + 6] = x[vi]
