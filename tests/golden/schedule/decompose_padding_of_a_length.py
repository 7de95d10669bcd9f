# A length that a variable names is at least 1: there is something inside.
# apply:
b0 = sch.get_block(name="pad", func_name="main")
l1, = sch.get_loops(block=b0)
b2 = sch.decompose_padding(block=b0, loop=l1)
# before and expected:
@T.prim_func
def before(a: T.handle, b: T.handle):
    n = T.int32()
    x = T.match_buffer(a, (n,), "float32")
    y = T.match_buffer(b, ((n + 15) // 16 * 16,), "float32")
    for i in range((n + 15) // 16 * 16):
        with T.block("pad"):
            vi = T.axis.spatial((n + 15) // 16 * 16, i)
            T.reads(x[vi])
            T.writes(y[vi])
            y[vi] = T.if_then_else(vi < n, x[vi], T.float32(0.0))
@T.prim_func
def expected(a: T.handle, b: T.handle):
    n = T.int32()
    x = T.match_buffer(a, (n,), "float32")
    y = T.match_buffer(b, ((n + 15) // 16 * 16,), "float32")
    for i in range((n + 15) // 16 * 16):
        with T.block("pad_pad_const"):
            vi = T.axis.spatial((n + 15) // 16 * 16, i)
            T.reads()
            T.writes(y[vi])
            y[vi] = T.float32(0.0)
    for i in range(n):
        with T.block("pad"):
            vi = T.axis.spatial(n, i)
            T.reads(x[vi])
            T.writes(y[vi])
            y[vi] = x[vi]
