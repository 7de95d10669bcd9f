// Workloads that tests schedule: as a legalised network has them.
#pragma once

#include <fmt/format.h>

#include <string>

namespace lathe {

inline constexpr char kMatmulRelu[] = R"(
@T.prim_func
def main(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), D: T.Buffer((128, 128), "float32")):
    C = T.alloc_buffer((128, 128))
    for i, j, k in T.grid(128, 128, 128):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(128, 128):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))
)";

// 3x3 convolution, stride 1, padding 1, 16 -> 32 channels on 14x14, bias, residual add, relu; weights in panels of 16
// output channels.
inline constexpr char kConvBiasAddRelu[] = R"(
@T.prim_func
def main(X: T.Buffer((1, 16, 14, 14), "float32"), W: T.Buffer((2, 16, 3, 3, 16), "float32"), bias: T.Buffer((32, 1, 1), "float32"),
         R: T.Buffer((1, 32, 14, 14), "float32"), Y: T.Buffer((1, 32, 14, 14), "float32")):
    pad_temp = T.alloc_buffer((1, 16, 16, 16))
    conv = T.alloc_buffer((1, 32, 14, 14))
    T_add = T.alloc_buffer((1, 32, 14, 14))
    T_add_1 = T.alloc_buffer((1, 32, 14, 14))
    for i0, i1, i2, i3 in T.grid(1, 16, 16, 16):
        with T.block("pad_temp"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            pad_temp[v0, v1, v2, v3] = T.if_then_else(1 <= v2 and v2 < 15 and 1 <= v3 and v3 < 15, X[v0, v1, v2 - 1, v3 - 1], T.float32(0))
    for n, oc, oh, ow, ic, kh, kw in T.grid(1, 32, 14, 14, 16, 3, 3):
        with T.block("conv2d_nchw"):
            vn, voc, voh, vow, vic, vkh, vkw = T.axis.remap("SSSSRRR", [n, oc, oh, ow, ic, kh, kw])
            with T.init():
                conv[vn, voc, voh, vow] = T.float32(0)
            conv[vn, voc, voh, vow] = conv[vn, voc, voh, vow] + pad_temp[vn, vic, voh + vkh, vow + vkw] * W[voc // 16, vic, vkh, vkw, voc % 16]
    for i0, i1, i2, i3 in T.grid(1, 32, 14, 14):
        with T.block("T_add"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T_add[v0, v1, v2, v3] = conv[v0, v1, v2, v3] + bias[v1, 0, 0]
    for i0, i1, i2, i3 in T.grid(1, 32, 14, 14):
        with T.block("T_add_1"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T_add_1[v0, v1, v2, v3] = T_add[v0, v1, v2, v3] + R[v0, v1, v2, v3]
    for i0, i1, i2, i3 in T.grid(1, 32, 14, 14):
        with T.block("T_relu"):
            v0, v1, v2, v3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            Y[v0, v1, v2, v3] = T.max(T_add_1[v0, v1, v2, v3], T.float32(0))
)";

inline constexpr char kMaxPool[] = R"(
@T.prim_func
def main(X: T.Buffer((1, 8, 15, 15), "float32"), Y: T.Buffer((1, 8, 7, 7), "float32")):
    for i0, i1, i2, i3, r0, r1 in T.grid(1, 8, 7, 7, 3, 3):
        with T.block("pool_max"):
            v0, v1, v2, v3, w0, w1 = T.axis.remap("SSSSRR", [i0, i1, i2, i3, r0, r1])
            with T.init():
                Y[v0, v1, v2, v3] = T.float32(-3.4028234663852886e38)
            Y[v0, v1, v2, v3] = T.max(Y[v0, v1, v2, v3], X[v0, v1, v2 * 2 + w0, v3 * 2 + w1])
)";

// Of a padded image in blocks of 16 channels.
inline constexpr char kMaxPoolInBlocks[] = R"(
@T.prim_func
def main(X: T.Buffer((1, 2, 12, 12, 16), "float32"), Y: T.Buffer((1, 2, 6, 6, 16), "float32")):
    P = T.alloc_buffer((1, 2, 13, 13, 16))
    for i0, i1, i2, i3, i4 in T.grid(1, 2, 13, 13, 16):
        with T.block("pad_temp"):
            v0, v1, v2, v3, v4 = T.axis.remap("SSSSS", [i0, i1, i2, i3, i4])
            P[v0, v1, v2, v3, v4] = T.if_then_else(1 <= v2 and 1 <= v3, X[v0, v1, v2 - 1, v3 - 1, v4], T.float32(-3.4028234663852886e38))
    for i0, i1, i2, i3, i4, r0, r1 in T.grid(1, 2, 6, 6, 16, 3, 3):
        with T.block("pool_max"):
            v0, v1, v2, v3, v4, w0, w1 = T.axis.remap("SSSSSRR", [i0, i1, i2, i3, i4, r0, r1])
            with T.init():
                Y[v0, v1, v2, v3, v4] = T.float32(-3.4028234663852886e38)
            Y[v0, v1, v2, v3, v4] = T.max(Y[v0, v1, v2, v3, v4], P[v0, v1, v2 * 2 + w0, v3 * 2 + w1, v4])
)";

inline constexpr char kDepthwise14[] = R"(
@T.prim_func
def main(A: T.Buffer((8, 16, 16), "float32"), W: T.Buffer((8, 3, 3), "float32"), Y: T.Buffer((8, 14, 14), "float32")):
    for c, y, x, i, j in T.grid(8, 14, 14, 3, 3):
        with T.block("depthwise"):
            vc, vy, vx, vi, vj = T.axis.remap("SSSRR", [c, y, x, i, j])
            with T.init():
                Y[vc, vy, vx] = T.float32(0)
            Y[vc, vy, vx] = Y[vc, vy, vx] + A[vc, vy + vi, vx + vj] * W[vc, vi, vj]
)";

inline constexpr char kProductWithTransposed[] = R"(
@T.prim_func
def main(A: T.Buffer((20, 24), "float32"), B: T.Buffer((32, 24), "float32"), C: T.Buffer((20, 32), "float32")):
    for i, j, k in T.grid(20, 32, 24):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
)";

inline constexpr char kElementwise[] = R"(
@T.prim_func
def main(A: T.Buffer((3, 5, 40), "float32"), B: T.Buffer((3, 5, 40), "float32")):
    C = T.alloc_buffer((3, 5, 40))
    for i, j, k in T.grid(3, 5, 40):
        with T.block("add"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            C[vi, vj, vk] = A[vi, vj, vk] + T.float32(1)
    for i, j, k in T.grid(3, 5, 40):
        with T.block("mul"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = C[vi, vj, vk] * T.float32(2)
)";

inline constexpr char kRowSums[] = R"(
@T.prim_func
def main(A: T.Buffer((3, 2, 160), "float32"), S: T.Buffer((3, 2), "float32")):
    for i, j, k in T.grid(3, 2, 160):
        with T.block("sum"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + A[vi, vj, vk]
)";

inline constexpr char kMatrixTimesVector[] = R"(
@T.prim_func
def main(W: T.Buffer((24, 256), "float32"), X: T.Buffer((256,), "float32"), Y: T.Buffer((24,), "float32")):
    for i, k in T.grid(24, 256):
        with T.block("dense"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + W[vi, vk] * X[vk]
)";

// As a softmax, in numbers that no order of the sums rounds.
inline constexpr char kNormalizedRows[] = R"(
@T.prim_func
def main(X: T.Buffer((6, 192), "float32"), Y: T.Buffer((6, 192), "float32")):
    M = T.alloc_buffer((6,))
    D = T.alloc_buffer((6, 192))
    S = T.alloc_buffer((6,))
    for i, k in T.grid(6, 192):
        with T.block("max"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], X[vi, vk])
    for i, k in T.grid(6, 192):
        with T.block("difference"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi, vk] = X[vi, vk] - M[vi]
    for i, k in T.grid(6, 192):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + D[vi, vk]
    for i, k in T.grid(6, 192):
        with T.block("quotient"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = D[vi, vk] / (S[vi] - T.float32(1))
)";

// As a layer norm: one value of each row is computed between two reductions.
inline constexpr char kCentredRows[] = R"(
@T.prim_func
def main(X: T.Buffer((6, 128), "float32"), Y: T.Buffer((6, 128), "float32")):
    S = T.alloc_buffer((6,))
    M = T.alloc_buffer((6,))
    V = T.alloc_buffer((6,))
    for i, k in T.grid(6, 128):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + X[vi, vk]
    for i in range(6):
        with T.block("mean"):
            vi = T.axis.spatial(6, i)
            M[vi] = S[vi] * T.float32(0.0078125)
    for i, k in T.grid(6, 128):
        with T.block("squares"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V[vi] = T.float32(0)
            V[vi] = V[vi] + (X[vi, vk] - M[vi]) * (X[vi, vk] - M[vi])
    for i, k in T.grid(6, 128):
        with T.block("difference"):
            vi, vk = T.axis.remap("SS", [i, k])
            Y[vi, vk] = (X[vi, vk] - M[vi]) * (V[vi] + T.float32(1))
)";

// As attention, in numbers that no order of the sums rounds.
inline constexpr char kProductsOfReducedRows[] = R"(
@T.prim_func
def main(Q: T.Buffer((2, 12, 16), "float32"), K: T.Buffer((2, 32, 16), "float32"), V: T.Buffer((2, 32, 16), "float32"), Y: T.Buffer((2, 12, 16), "float32")):
    turned = T.alloc_buffer((2, 16, 32))
    P = T.alloc_buffer((2, 12, 32))
    S = T.alloc_buffer((2, 12, 32))
    M = T.alloc_buffer((2, 12))
    D = T.alloc_buffer((2, 12, 32))
    T_sum = T.alloc_buffer((2, 12))
    R = T.alloc_buffer((2, 12, 32))
    for b, k, j in T.grid(2, 16, 32):
        with T.block("turned"):
            vb, vk, vj = T.axis.remap("SSS", [b, k, j])
            turned[vb, vk, vj] = K[vb, vj, vk]
    for b, i, j, k in T.grid(2, 12, 32, 16):
        with T.block("products"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                P[vb, vi, vj] = T.float32(0)
            P[vb, vi, vj] = P[vb, vi, vj] + Q[vb, vi, vk] * turned[vb, vk, vj]
    for b, i, j in T.grid(2, 12, 32):
        with T.block("scaled"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            S[vb, vi, vj] = P[vb, vi, vj] * T.float32(0.5)
    for b, i, j in T.grid(2, 12, 32):
        with T.block("max"):
            vb, vi, vj = T.axis.remap("SSR", [b, i, j])
            with T.init():
                M[vb, vi] = T.min_value("float32")
            M[vb, vi] = T.max(M[vb, vi], S[vb, vi, vj])
    for b, i, j in T.grid(2, 12, 32):
        with T.block("difference"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            D[vb, vi, vj] = S[vb, vi, vj] - M[vb, vi]
    for b, i, j in T.grid(2, 12, 32):
        with T.block("sum"):
            vb, vi, vj = T.axis.remap("SSR", [b, i, j])
            with T.init():
                T_sum[vb, vi] = T.float32(0)
            T_sum[vb, vi] = T_sum[vb, vi] + D[vb, vi, vj]
    for b, i, j in T.grid(2, 12, 32):
        with T.block("rest"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            R[vb, vi, vj] = D[vb, vi, vj] - T_sum[vb, vi]
    for b, i, j, k in T.grid(2, 12, 16, 32):
        with T.block("mixed"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                Y[vb, vi, vj] = T.float32(0)
            Y[vb, vi, vj] = Y[vb, vi, vj] + R[vb, vi, vk] * V[vb, vk, vj]
)";

inline constexpr char kColumnSums[] = R"(
@T.prim_func
def main(A: T.Buffer((32, 96), "float32"), S: T.Buffer((96,), "float32")):
    for j, k in T.grid(96, 32):
        with T.block("sum"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                S[vj] = T.float32(0)
            S[vj] = S[vj] + A[vk, vj]
)";

inline constexpr char kVectorTimesMatrix[] = R"(
@T.prim_func
def main(A: T.Buffer((1, 256), "float32"), B: T.Buffer((256, 1024), "float32"), C: T.Buffer((1, 1024), "float32")):
    for i, j, k in T.grid(1, 1024, 256):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
)";

inline constexpr char kTransposedPlusBias[] = R"(
@T.prim_func
def main(A: T.Buffer((3, 48, 32), "float32"), bias: T.Buffer((32,), "float32"), B: T.Buffer((3, 32, 48), "float32")):
    for i, j, k in T.grid(3, 32, 48):
        with T.block("transpose"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vk, vj] + bias[vj]
)";

// The second factor is given as the instruction wants it.
inline constexpr char kProductInPanels[] = R"(
@T.prim_func
def main(A: T.Buffer((12, 48), "uint8"), B: T.Buffer((2, 12, 16, 4), "int8"), C: T.Buffer((12, 32), "int32")):
    for i, j, k in T.grid(12, 32, 48):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj // 16, vk // 4, vj % 16, vk % 4])
)";

// A product of narrow types in sums of another one, of m rows by n columns.
inline std::string NarrowProduct(const std::string& a, const std::string& b, const std::string& c, bool transposed,
                                 int m = 12, int n = 32, int k = 48) {
  return fmt::format(R"(
@T.prim_func
def main(A: T.Buffer(({m}, {k}), "{a}"), B: T.Buffer(({rows}, {columns}), "{b}"), C: T.Buffer(({m}, {n}), "{c}")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.Cast("{c}", 0)
            C[vi, vj] = C[vi, vj] + T.Cast("{c}", A[vi, vk]) * T.Cast("{c}", B[{at}])
)",
                     fmt::arg("a", a), fmt::arg("b", b), fmt::arg("c", c), fmt::arg("m", m), fmt::arg("n", n),
                     fmt::arg("k", k), fmt::arg("rows", transposed ? n : k), fmt::arg("columns", transposed ? k : n),
                     fmt::arg("at", transposed ? "vj, vk" : "vk, vj"));
}

// Padded, channels last, with what a network does to the sums behind it.
inline constexpr char kNarrowConv[] = R"(
@T.prim_func
def main(X: T.Buffer((6, 6, 8), "uint8"), W: T.Buffer((3, 3, 8, 32), "int8"), bias: T.Buffer((32,), "int32"), Y: T.Buffer((6, 6, 32), "int32")):
    P = T.alloc_buffer((8, 8, 8), "uint8")
    C = T.alloc_buffer((6, 6, 32), "int32")
    for y, x, c in T.grid(8, 8, 8):
        with T.block("pad"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            P[vy, vx, vc] = T.if_then_else(1 <= vy and vy < 7 and 1 <= vx and vx < 7, X[vy - 1, vx - 1, vc], T.uint8(0))
    for y, x, f, i, j, c in T.grid(6, 6, 32, 3, 3, 8):
        with T.block("conv"):
            vy, vx, vf, vi, vj, vc = T.axis.remap("SSSRRR", [y, x, f, i, j, c])
            with T.init():
                C[vy, vx, vf] = 0
            C[vy, vx, vf] = C[vy, vx, vf] + T.Cast("int32", W[vi, vj, vc, vf]) * T.Cast("int32", P[vy + vi, vx + vj, vc])
    for y, x, f in T.grid(6, 6, 32):
        with T.block("bias"):
            vy, vx, vf = T.axis.remap("SSS", [y, x, f])
            Y[vy, vx, vf] = T.max(C[vy, vx, vf] + bias[vf], 0)
)";

}  // namespace lathe
