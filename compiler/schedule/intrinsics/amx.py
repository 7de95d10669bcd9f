# Tiles of AMX: ROWS rows of 64 bytes at most. What stands for an instruction is what it computes, in plain loops, with
# its name: "pragma_amx".
@T.prim_func
def multiply_desc(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (ROWS, DEPTH), A_TYPE, offset_factor=1)
    B = T.match_buffer(b, (STEPS, COLUMNS, PARTS), B_TYPE, offset_factor=1)
    C = T.match_buffer(c, (ROWS, COLUMNS), C_TYPE, offset_factor=1)
    with T.block("root"):
        T.reads(C[0:ROWS, 0:COLUMNS], A[0:ROWS, 0:DEPTH], B[0:STEPS, 0:COLUMNS, 0:PARTS])
        T.writes(C[0:ROWS, 0:COLUMNS])
        for i, j, k in T.grid(ROWS, COLUMNS, DEPTH):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], C_TYPE) * T.cast(B[vk // PARTS, vj, vk % PARTS], C_TYPE)


@T.prim_func
def multiply(a: T.handle, b: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (ROWS, DEPTH), A_TYPE, offset_factor=1)
    B = T.match_buffer(b, (STEPS, COLUMNS, PARTS), B_TYPE, offset_factor=1)
    C = T.match_buffer(c, (ROWS, COLUMNS), C_TYPE, offset_factor=1)
    with T.block("root"):
        T.reads(C[0:ROWS, 0:COLUMNS], A[0:ROWS, 0:DEPTH], B[0:STEPS, 0:COLUMNS, 0:PARTS])
        T.writes(C[0:ROWS, 0:COLUMNS])
        with T.attr(0, "pragma_amx", INSTRUCTION):
            for i, j, k, part in T.grid(ROWS, COLUMNS, STEPS, PARTS):
                C[i, j] = C[i, j] + T.cast(A[i, k * PARTS + part], C_TYPE) * T.cast(B[k, j, part], C_TYPE)


@T.prim_func
def zero_desc(c: T.handle) -> None:
    C = T.match_buffer(c, (ROWS, COLUMNS), C_TYPE, offset_factor=1)
    with T.block("root"):
        T.reads()
        T.writes(C[0:ROWS, 0:COLUMNS])
        for i, j in T.grid(ROWS, COLUMNS):
            with T.block("init"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = ZERO


@T.prim_func
def zero(c: T.handle) -> None:
    C = T.match_buffer(c, (ROWS, COLUMNS), C_TYPE, offset_factor=1)
    with T.block("root"):
        T.reads()
        T.writes(C[0:ROWS, 0:COLUMNS])
        with T.attr(0, "pragma_amx", "tilezero"):
            for i, j in T.grid(ROWS, COLUMNS):
                C[i, j] = ZERO


@T.prim_func
def store_desc(c: T.handle, d: T.handle) -> None:
    C = T.match_buffer(c, (ROWS, COLUMNS), C_TYPE, offset_factor=1)
    D = T.match_buffer(d, (ROWS, COLUMNS), C_TYPE, offset_factor=1)
    with T.block("root"):
        T.reads(C[0:ROWS, 0:COLUMNS])
        T.writes(D[0:ROWS, 0:COLUMNS])
        for i, j in T.grid(ROWS, COLUMNS):
            with T.block("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj]


@T.prim_func
def store(c: T.handle, d: T.handle) -> None:
    C = T.match_buffer(c, (ROWS, COLUMNS), C_TYPE, offset_factor=1)
    D = T.match_buffer(d, (ROWS, COLUMNS), C_TYPE, offset_factor=1)
    with T.block("root"):
        T.reads(C[0:ROWS, 0:COLUMNS])
        T.writes(D[0:ROWS, 0:COLUMNS])
        with T.attr(0, "pragma_amx", "tilestored"):
            for i, j in T.grid(ROWS, COLUMNS):
                D[i, j] = C[i, j]
