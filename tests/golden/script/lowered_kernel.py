# After lowering: no blocks, flat buffers, vectors, allocations.
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32"), n: T.int32):
    T.func_attr({"target": "llvm -mcpu=cortex-a72", "lathe.workspace": [64, 16.5, "x"]})
    assert 0 <= n and n <= 64, "n: expected 0 to 64"
    for i in T.parallel(64):
        with T.decl_buffer((64,), "float32", scope="local") as acc:
            acc[0:16] = T.Broadcast(T.float32(0), 16)
            base: T.int32 = i * 64
            for k in range(n):
                if k % 2 == 0 and not k > 62:
                    acc[0:16] = acc[0:16] + A[T.Ramp(base, 1, 16)] * T.Broadcast(B[base + k], 16)
                elif k == 3:
                    T.evaluate(0)
                else:
                    acc[T.Ramp(0, 4, 16)] = T.Cast("float32x16", T.Ramp(T.int64(0), T.int64(2), 16))
            with T.LetStmt(T.Select(n > 3, acc[1], acc[2])) as y:
                B[base] = y
            B[base + 1] = T.reinterpret("float32", T.uint32(4286578687)) + T.exp(acc[0])
        T.tvm_storage_sync("shared")
    while B[0] < T.float32(1):
        B[0] = T.call_intrin("float32", "tir.fma", B[0], T.float32(2), T.float32(1))
