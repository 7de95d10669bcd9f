# A loop that runs over a part of the iter var's domain stays that short: beyond it nothing may be there to copy.
# apply:
b0 = sch.get_block(name="pad", func_name="main")
l1, l2 = sch.get_loops(block=b0)
b3 = sch.decompose_padding(block=b0, loop=l2)
# before and expected:
@T.prim_func
def before(x: T.Buffer((8,), "int32"), y: T.Buffer((3, 8), "int32")):
    for n, i in T.grid(3, 5):
        with T.block("pad"):
            vn = T.axis.spatial(3, n)
            vi = T.axis.spatial(8, i)
            T.reads(x[vi])
            T.writes(y[vn, vi])
            y[vn, vi] = T.if_then_else(1 <= vi and vi < 7, x[vi], 0)
@T.prim_func
def expected(x: T.Buffer((8,), "int32"), y: T.Buffer((3, 8), "int32")):
    for n in range(3):
        for i in range(5):
            with T.block("pad_pad_const"):
                vn = T.axis.spatial(3, n)
                vi = T.axis.spatial(8, i)
                T.reads()
                T.writes(y[vn, vi])
                y[vn, vi] = 0
        for i in range(4):
            with T.block("pad"):
                vn, vi = T.axis.remap("SS", [n, i])
                T.reads(x[vi + 1])
                T.writes(y[vn, vi + 1])
                y[vn, vi + 1] = x[vi + 1]
