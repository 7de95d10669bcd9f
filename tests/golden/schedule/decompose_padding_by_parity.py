# Every other element is no box.
# apply:
b0 = sch.get_block(name="pad", func_name="main")
l1, = sch.get_loops(block=b0)
b2 = sch.decompose_padding(block=b0, loop=l1)
# fails: no conjunction of bounds on single iter vars
# before and expected:
@T.prim_func
def before(x: T.Buffer((128,), "int32"), y: T.Buffer((140,), "int32")):
    for i in range(140):
        with T.block("pad"):
            vi = T.axis.spatial(140, i)
            y[vi] = T.if_then_else(vi % 2 == 0, x[vi // 2], 0)
