@T.macro(hygienic=False)
def step(X, i, value=1):
    X[i] = X[i] + value

@T.prim_func
def main(A: Buf((16,), "float32")):
    for i in T.serial(16, annotations={"k": note(1)}):
        step(A, i)
        outer.step(A, i, value=alpha)
        A[i], t = pair(A[i])
