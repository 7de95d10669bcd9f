@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 8), dtype), n: T.int32):
        T.func_attr({"global_symbol": "main", "tag": tag, "list": [1, two, (3, four)]})
        C = T.alloc_buffer([8] + shape, dtype=dtype, scope=scope)
        for io, ii in T.grid(*[c // 4 for c in A.shape]):
            if T.likely(cond(io, ii)) and not flag:
                T.evaluate(call(A.data, T.address_of(C[0, 0]), f"{io}"))
            else:
                C[io, ii : ii + 4 : step] = T.Broadcast(x if flag else T.float32(0), 4)
