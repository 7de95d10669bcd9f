# A block without iter vars works on all of the buffer at once.
# apply:
b0 = sch.get_block(name="A")
b1, b2 = sch.cache_inplace(block=b0, read_buffer_index=0, storage_scope="local")
# before and expected:
@T.prim_func
def before(data_io: T.Buffer((64,), "int32")):
    for i in range(1):
        with T.block("A"):
            T.reads(data_io[0:64])
            T.writes(data_io[0:64])
            for k in range(64):
                data_io[k] = data_io[63 - k] + i
@T.prim_func
def expected(data_io: T.Buffer((64,), "int32")):
    data_io_local = T.alloc_buffer((64,), "int32", scope="local")
    for i in range(1):
        for ax0 in range(64):
            with T.block("data_io_local"):
                v0 = T.axis.spatial(64, ax0)
                T.reads(data_io[v0])
                T.writes(data_io_local[v0])
                data_io_local[v0] = data_io[v0]
        with T.block("A"):
            T.reads(data_io_local[0:64])
            T.writes(data_io_local[0:64])
            for k in range(64):
                data_io_local[k] = data_io_local[63 - k] + i
        for ax0 in range(64):
            with T.block("data_io_local"):
                v0 = T.axis.spatial(64, ax0)
                T.reads(data_io_local[v0])
                T.writes(data_io[v0])
                data_io[v0] = data_io_local[v0]
