// Kernels: threads, barriers, shared memory, shuffles, atomics and asynchronous copies, and what is said of wrong ones.
#include <gmock/gmock.h>

#include <numeric>

#include "compiler/interpreter/interpreter.h"
#include "compiler/script/parser.h"

namespace lathe {
namespace {

using testing::Each;
using testing::HasSubstr;

// A function f(A: 64 x int32, B: 64 x int32) around `body`, whose lines have no indentation of their own.
PrimFunc KernelOf(std::string_view body) {
  std::string text = "@T.prim_func\ndef f(A: T.Buffer((64,), \"int32\"), B: T.Buffer((64,), \"int32\")):\n    ";
  for (const char c : body) text += c == '\n' ? std::string("\n    ") : std::string(1, c);
  StatusOr<PrimFunc> func = ParsePrimFunc(text + "\n", "kernel.py");
  CHECK(func.ok()) << func.status().ToString() << "\n" << text;
  return *func;
}

// A is 0, 1, ..., 63; gives B.
StatusOr<std::vector<double>> RunKernel(std::string_view body, InterpreterOptions options = {}) {
  std::vector<int64_t> numbers(64);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<Tensor> args = {Tensor::FromInts(DataType::Int(32), {64}, numbers),
                              Tensor::Zeros(DataType::Int(32), {64})};
  const Status status = Interpret(KernelOf(body), args, options);
  if (!status.ok()) return status;
  return args[1].ToDoubles();
}

std::vector<double> Numbers(double (*f)(int)) {
  std::vector<double> numbers;
  for (int i = 0; i < 64; ++i) numbers.push_back(f(i));
  return numbers;
}

struct KernelResult {
  const char* name;
  const char* body;
  double (*expected)(int i);
};
class KernelResultTest : public testing::TestWithParam<KernelResult> {};
TEST_P(KernelResultTest, IsWhatADeviceComputes) {
  const StatusOr<std::vector<double>> result = RunKernel(GetParam().body);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(*result, Numbers(GetParam().expected));
}
const auto kKernelName = [](const auto& info) { return std::string(info.param.name); };

INSTANTIATE_TEST_SUITE_P(
    Barriers, KernelResultTest,
    testing::Values(KernelResult{"SharedMemoryIsReversed", R"(for bx in T.thread_binding(2, thread="blockIdx.x"):
    with T.decl_buffer((32,), "int32", scope="shared") as S:
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            S[tx] = A[bx * 32 + tx]
            T.tvm_storage_sync("shared")
            B[bx * 32 + tx] = S[31 - tx])",
                                 [](int i) { return double(i / 32 * 32 + 31 - i % 32); }},
                    KernelResult{"LaunchedThreadsInALoop", R"(bx = T.launch_thread("blockIdx.x", 1)
S = T.decl_buffer((64,), "int32", scope="shared")
tx = T.launch_thread("threadIdx.x", 64)
S[tx] = A[tx]
for k in range(3):
    T.tvm_storage_sync("shared")
    v: T.int32 = S[(tx + 1) % 64]
    T.tvm_storage_sync("shared")
    S[tx] = v
B[tx] = S[tx])",
                                 [](int i) { return double((i + 3) % 64); }},
                    KernelResult{"TwoNestsOfOneBlock", R"(for bx in T.thread_binding(2, thread="blockIdx.x"):
    with T.decl_buffer((32,), "int32", scope="shared") as S:
        for ty in T.thread_binding(4, thread="threadIdx.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                S[ty * 8 + tx] = A[bx * 32 + ty * 8 + tx] * 2
        T.tvm_storage_sync("shared")
        for y in T.thread_binding(4, thread="threadIdx.y"):
            for x in T.thread_binding(8, thread="threadIdx.x"):
                B[bx * 32 + x * 4 + y] = S[x * 4 + y])",
                                 [](int i) { return double(2 * i); }},
                    KernelResult{"BlocksOfAScheduleWithSharedMemoryAtTheRoot",
                                 R"(S = T.alloc_buffer((64,), "int32", scope="shared")
L = T.alloc_buffer((64,), "int32", scope="local")
for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("copy"):
            vi = T.axis.spatial(64, bx * 32 + tx)
            S[vi] = A[vi]
        T.tvm_storage_sync("shared")
        for k in range(2):
            with T.block("local"):
                vi = T.axis.spatial(64, bx * 32 + (tx + k) % 32)
                vk = T.axis.reduce(2, k)
                L[bx * 32 + tx] = T.if_then_else(vk == 0, 0, L[bx * 32 + tx]) + S[vi]
        with T.block("out"):
            vi = T.axis.spatial(64, bx * 32 + tx)
            B[vi] = L[vi])",
                                 [](int i) { return double(i + i / 32 * 32 + (i + 1) % 32); }},
                    KernelResult{"WarpMemoryIsOrderedByWarpBarriers",
                                 R"(for tx in T.thread_binding(64, thread="threadIdx.x"):
    with T.decl_buffer((32,), "int32", scope="warp") as W:
        W[tx % 32] = A[tx]
        T.tvm_storage_sync("warp")
        B[tx] = W[31 - tx % 32])",
                                 [](int i) { return double(i / 32 * 32 + 31 - i % 32); }},
                    KernelResult{"NobodyRunsAnEmptyKernel", R"(for bx in T.thread_binding(-1, thread="blockIdx.x"):
    for by in T.thread_binding(-1, thread="blockIdx.y"):
        B[0] = 1)",
                                 [](int) { return 0.0; }},
                    KernelResult{"VirtualThreadsAreLoops", R"(for tx in T.thread_binding(16, thread="threadIdx.x"):
    for v in T.thread_binding(4, thread="vthread.x"):
        B[v * 16 + tx] = A[v * 16 + tx] + v)",
                                 [](int i) { return double(i + i / 16); }}),
    kKernelName);

INSTANTIATE_TEST_SUITE_P(
    Warps, KernelResultTest,
    testing::Values(KernelResult{"ShuffleDownAddsUp", R"(for tx in T.thread_binding(64, thread="threadIdx.x"):
    with T.decl_buffer((1,), "int32", scope="local") as s:
        s[0] = A[tx]
        s[0] = s[0] + T.tvm_warp_shuffle_down(T.uint32(4294967295), s[0], 16, 32, 32)
        s[0] = s[0] + T.tvm_warp_shuffle_down(T.uint32(4294967295), s[0], 8, 32, 32)
        s[0] = s[0] + T.tvm_warp_shuffle_down(T.uint32(4294967295), s[0], 4, 32, 32)
        s[0] = s[0] + T.tvm_warp_shuffle_down(T.uint32(4294967295), s[0], 2, 32, 32)
        s[0] = s[0] + T.tvm_warp_shuffle_down(T.uint32(4294967295), s[0], 1, 32, 32)
        B[tx] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), s[0], 0, 32, 32))",
                                 [](int i) { return i < 32 ? 496.0 : 1520.0; }},
                    KernelResult{"ShuffleUpKeepsTheFirst", R"(for tx in T.thread_binding(64, thread="threadIdx.x"):
    v: T.int32 = T.tvm_warp_shuffle_up(T.uint32(4294967295), A[tx], 1, 8, 32)
    B[tx] = v)",
                                 [](int i) { return double(i % 8 == 0 ? i : i - 1); }},
                    KernelResult{"ShuffleXorSwapsNeighbours", R"(for tx in T.thread_binding(64, thread="threadIdx.x"):
    B[tx] = T.tvm_warp_shuffle_xor(T.uint32(4294967295), A[tx], 1, 32, 32))",
                                 [](int i) { return double(i ^ 1); }},
                    KernelResult{"AtomicsOfAllBlocksAddUp", R"(for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        T.evaluate(T.call_extern("int32", "atomicAdd", T.address_of(B[tx % 4]), A[bx * 32 + tx])))",
                                 [](int i) { return i < 4 ? double(480 + 16 * i) : 0.0; }}),
    kKernelName);

INSTANTIATE_TEST_SUITE_P(Copies, KernelResultTest,
                         testing::Values(KernelResult{"CpAsyncOfTwoGroups",
                                                      R"(for tx in T.thread_binding(8, thread="threadIdx.x"):
    with T.decl_buffer((64,), "int32", scope="shared") as S:
        T.ptx_cp_async("int32", S.data, tx * 8, A.data, tx * 8, 16)
        T.ptx_commit_group()
        T.ptx_cp_async("int32", S.data, tx * 8 + 4, A.data, tx * 8 + 4, 16)
        T.ptx_commit_group()
        T.ptx_wait_group(1)
        T.tvm_storage_sync("shared")
        for k in range(4):
            B[tx * 8 + k] = S[(tx + 1) % 8 * 8 + k]
        T.ptx_wait_group(0)
        T.tvm_storage_sync("shared")
        for k in range(4):
            B[tx * 8 + 4 + k] = S[(tx + 1) % 8 * 8 + 4 + k])",
                                                      [](int i) { return double((i + 8) % 64); }},
                                         KernelResult{"PipelineAttributes", R"(with T.decl_buffer((2, 8), "int32") as S:
    for i in range(9):
        if i < 8:
            with T.attr(0, "async_commit_queue_scope", 0):
                with T.attr(0, "async_scope", 1):
                    for k in range(8):
                        S[i % 2, k] = A[i * 8 + k]
        if i > 0:
            with T.attr(0, "async_wait_queue_scope", 0):
                with T.attr(0, "async_wait_inflight_count", T.if_then_else(i < 8, 1, 0)):
                    for k in range(8):
                        B[(i - 1) * 8 + k] = S[(i - 1) % 2, k] + 1)",
                                                      [](int i) { return double(i + 1); }}),
                         kKernelName);

struct WrongKernel {
  const char* name;
  const char* body;
  StatusCode code;
  const char* message;
};
class WrongKernelTest : public testing::TestWithParam<WrongKernel> {};
TEST_P(WrongKernelTest, IsReportedWithItsPlace) {
  const Status status = RunKernel(GetParam().body).status();
  EXPECT_EQ(status.code(), GetParam().code) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Races, WrongKernelTest,
    testing::Values(
        WrongKernel{"MissingBarrier", R"(for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("tile"):
            vb, vt = T.axis.remap("SS", [bx, tx])
            S = T.alloc_buffer((32,), "int32", scope="shared")
            with T.block("copy"):
                S[vt] = A[vb * 32 + vt]
            with T.block("use"):
                B[vb * 32 + vt] = S[31 - vt])",
                    StatusCode::kFailedPrecondition,
                    "interpret @f block \"use\" at bx = 0, tx = 0: data race: S[31] is read here and written by thread "
                    "(31, 0, 0) in block \"copy\"; a barrier is missing between, T.tvm_storage_sync(\"shared\")"},
        WrongKernel{"MissingBarrierBeforeTheNextTurn", R"(with T.decl_buffer((8,), "int32", scope="shared") as S:
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        for k in range(8):
            S[tx] = A[k * 8 + tx]
            T.tvm_storage_sync("shared")
            B[k * 8 + tx] = S[7 - tx])",
                    StatusCode::kFailedPrecondition,
                    "at tx = 0, k = 1: data race: S[0] is written here and read by thread (7, 0, 0); a barrier is "
                    "missing between"},
        WrongKernel{"WarpsNeedMoreThanAWarpBarrier", R"(with T.decl_buffer((64,), "int32", scope="shared") as S:
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        S[tx] = A[tx]
        T.tvm_storage_sync("warp")
        B[tx] = S[63 - tx])",
                    StatusCode::kFailedPrecondition,
                    "at tx = 0: data race: S[63] is read here and written by thread (63, 0, 0); a barrier is missing "
                    "between, T.tvm_storage_sync(\"shared\")"},
        WrongKernel{"OneStatementOfTwoThreads", R"(for tx in T.thread_binding(4, thread="threadIdx.x"):
    B[tx // 2] = A[tx])",
                    StatusCode::kFailedPrecondition,
                    "at tx = 1: data race: B[0] is written here and written by thread (0, 0, 0) at once"},
        WrongKernel{"AStatementThatAllThreadsRun", R"(for bx in T.thread_binding(2, thread="blockIdx.x"):
    B[bx] = 1
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        B[8 + bx * 4 + tx] = 2)",
                    StatusCode::kFailedPrecondition,
                    "at bx = 0: data race: B[0] is written here and written by thread"},
        WrongKernel{"TwoBlocks", R"(for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        B[tx] = A[bx])",
                    StatusCode::kFailedPrecondition,
                    "at bx = 1, tx = 0: data race: B[0] is written here and written by block (0, 0, 0); blocks run in "
                    "any order"},
        WrongKernel{"ABlockReadsWhatAnotherWrites", R"(for by in T.thread_binding(3, thread="blockIdx.y"):
    B[by] = B[by // 2] + 1)",
                    StatusCode::kFailedPrecondition,
                    "at by = 1: data race: B[0] is read here and written by block (0, 0, 0)"},
        WrongKernel{"AtomicsBesideAPlainWrite", R"(for tx in T.thread_binding(4, thread="threadIdx.x"):
    if tx == 0:
        B[0] = 1
    T.evaluate(T.call_extern("int32", "atomicAdd", T.address_of(B[0]), 1)))",
                    StatusCode::kFailedPrecondition,
                    "at tx = 1: data race: B[0] is written here and written by thread (0, 0, 0); a barrier is missing"},
        WrongKernel{"APlainReadBesideAtomics", R"(for tx in T.thread_binding(4, thread="threadIdx.x"):
    T.evaluate(T.call_extern("int32", "atomicAdd", T.address_of(B[0]), 1))
    B[1 + tx] = B[0])",
                    StatusCode::kFailedPrecondition, "data race: B[0] is read here and written by thread"}),
    kKernelName);

INSTANTIATE_TEST_SUITE_P(
    Divergence, WrongKernelTest,
    testing::Values(
        WrongKernel{"InACondition", R"(for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        if bx == 1 and tx < 16:
            T.tvm_storage_sync("shared"))",
                    StatusCode::kFailedPrecondition,
                    "at bx = 1, tx = 0: barrier divergence: thread (0, 0, 0) and 15 more of block (1, 0, 0) reach "
                    "T.tvm_storage_sync(\"shared\"), thread (16, 0, 0) does not"},
        WrongKernel{"InALoop", R"(for tx in T.thread_binding(4, thread="threadIdx.x"):
    for k in range(4 - tx):
        T.tvm_storage_sync("shared"))",
                    StatusCode::kFailedPrecondition,
                    "at tx = 0, k = 1: barrier divergence: thread (0, 0, 0) and 2 more"},
        WrongKernel{"OnBothSidesOfACondition", R"(for tx in T.thread_binding(4, thread="threadIdx.x"):
    if tx < 2:
        T.tvm_storage_sync("shared")
    else:
        T.tvm_storage_sync("shared"))",
                    StatusCode::kFailedPrecondition, "barrier divergence: thread (0, 0, 0) and 1 more"},
        WrongKernel{"OfPartOfAWarp", R"(for tx in T.thread_binding(64, thread="threadIdx.x"):
    if tx > 32:
        T.tvm_storage_sync("warp"))",
                    StatusCode::kFailedPrecondition,
                    "at tx = 33: barrier divergence: thread (33, 0, 0) and 30 more of block (0, 0, 0) reach "
                    "T.tvm_storage_sync(\"warp\"), thread (32, 0, 0) does not"},
        WrongKernel{"OfAShuffle", R"(for tx in T.thread_binding(32, thread="threadIdx.x"):
    if tx < 8:
        B[tx] = T.tvm_warp_shuffle_down(T.uint32(4294967295), A[tx], 4, 32, 32))",
                    StatusCode::kFailedPrecondition,
                    "barrier divergence: thread (0, 0, 0) and 7 more of block (0, 0, 0) reach "
                    "T.tvm_warp_shuffle_down, thread (8, 0, 0) does not"}),
    kKernelName);

INSTANTIATE_TEST_SUITE_P(
    Memory, WrongKernelTest,
    testing::Values(WrongKernel{"OutOfBounds", R"(for bx in T.thread_binding(3, thread="blockIdx.x"):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        B[bx * 32 + tx] = 0)",
                                StatusCode::kOutOfRange, "at bx = 2, tx = 0: B[64] is outside of shape [64]"},
                    WrongKernel{"SharedMemoryOfAnotherBlock", R"(with T.decl_buffer((1,), "int32", scope="shared") as S:
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        if bx == 0:
            S[0] = 1
        B[bx] = S[0])",
                                StatusCode::kFailedPrecondition, "at bx = 1: S[0] is read before it was written"},
                    WrongKernel{"LocalMemoryOfAnotherThread", R"(with T.decl_buffer((1,), "int32", scope="local") as L:
    for tx in T.thread_binding(2, thread="threadIdx.x"):
        if tx == 0:
            L[0] = 1
        B[tx] = L[0])",
                                StatusCode::kFailedPrecondition, "at tx = 1: L[0] is read before it was written"},
                    WrongKernel{"WarpMemoryOfAnotherWarp", R"(for tx in T.thread_binding(64, thread="threadIdx.x"):
    with T.decl_buffer((32,), "int32", scope="warp") as W:
        if tx < 32:
            W[tx] = 1
        B[tx] = W[tx % 32])",
                                StatusCode::kFailedPrecondition, "at tx = 32: W[0] is read before it was written"}),
    kKernelName);

INSTANTIATE_TEST_SUITE_P(
    Copies, WrongKernelTest,
    testing::Values(
        WrongKernel{"ReadInFlight", R"(for tx in T.thread_binding(8, thread="threadIdx.x"):
    with T.decl_buffer((32,), "int32", scope="shared") as S:
        T.ptx_cp_async("int32", S.data, tx * 4, A.data, tx * 4, 16)
        T.ptx_commit_group()
        T.ptx_wait_group(1)
        B[tx] = S[tx * 4 + 1])",
                    StatusCode::kFailedPrecondition,
                    "at tx = 0: S[1] is read while a copy into it is in flight; wait for its group first"},
        WrongKernel{"WaitWithoutABarrier", R"(for tx in T.thread_binding(8, thread="threadIdx.x"):
    with T.decl_buffer((32,), "int32", scope="shared") as S:
        T.ptx_cp_async("int32", S.data, tx * 4, A.data, tx * 4, 16)
        T.ptx_commit_group()
        T.ptx_wait_group(0)
        B[tx] = S[28 - tx * 4])",
                    StatusCode::kFailedPrecondition,
                    "at tx = 0: data race: S[28] is read here and written by thread (7, 0, 0); a barrier is missing"},
        WrongKernel{"TheSourceChangesInFlight", R"(for tx in T.thread_binding(1, thread="threadIdx.x"):
    with T.decl_buffer((32,), "int32", scope="shared") as S:
        T.ptx_cp_async("int32", S.data, 0, A.data, 0, 16)
        T.ptx_commit_group()
        A[2] = 7
        T.ptx_wait_group(0)
        B[tx] = S[2])",
                    StatusCode::kFailedPrecondition,
                    "at tx = 0: A[2] is written while a copy of it is in flight; wait for its group first"},
        WrongKernel{"MemoryEndsInFlight", R"(for tx in T.thread_binding(1, thread="threadIdx.x"):
    for k in range(2):
        with T.decl_buffer((32,), "int32", scope="shared") as S:
            T.ptx_cp_async("int32", S.data, 0, A.data, 0, 16)
            T.ptx_commit_group())",
                    StatusCode::kFailedPrecondition, "the memory of \"S\" ends while a copy of it is in flight"},
        WrongKernel{"NobodyWaits", R"(with T.attr(0, "async_commit_queue_scope", 0):
    with T.attr(0, "async_scope", 1):
        B[0] = A[1])",
                    StatusCode::kFailedPrecondition, "a copy is still in flight at the end"}),
    kKernelName);

INSTANTIATE_TEST_SUITE_P(
    Malformed, WrongKernelTest,
    testing::Values(
        WrongKernel{"BarrierOutsideOfAKernel", "T.tvm_storage_sync(\"shared\")", StatusCode::kInvalidArgument,
                    "T.tvm_storage_sync outside of a kernel: no thread axis is around it"},
        WrongKernel{"BarrierOfTheGrid", R"(for tx in T.thread_binding(4, thread="threadIdx.x"):
    T.tvm_storage_sync("global"))",
                    StatusCode::kUnimplemented, "T.tvm_storage_sync of something other than"},
        WrongKernel{"ShuffleOutsideOfAKernel", "B[0] = T.tvm_warp_shuffle_up(T.uint32(4294967295), A[0], 1, 32, 32)",
                    StatusCode::kInvalidArgument, "T.tvm_warp_shuffle_up outside of a kernel"},
        WrongKernel{"ShuffleThatMayNotBeEvaluated", R"(for tx in T.thread_binding(4, thread="threadIdx.x"):
    B[tx] = T.if_then_else(tx < 2, T.tvm_warp_shuffle_up(T.uint32(4294967295), A[0], 1, 32, 32), 0))",
                    StatusCode::kUnimplemented, "T.tvm_warp_shuffle_up inside of T.if_then_else"},
        WrongKernel{"ExtentsThatDiffer", R"(for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(4, thread="threadIdx.x"):
        B[bx * 8 + tx] = 0
    for ty in T.thread_binding(8, thread="threadIdx.x"):
        B[bx * 8 + 16 + ty] = 0)",
                    StatusCode::kInvalidArgument, "threadIdx.x has extent 8 here and 4 elsewhere in the kernel"},
        WrongKernel{"ExtentKnownInsideOnly", R"(for bx in T.thread_binding(2, thread="blockIdx.x"):
    for tx in T.thread_binding(bx + 1, thread="threadIdx.x"):
        B[bx * 8 + tx] = 0)",
                    StatusCode::kInvalidArgument, "the extent of threadIdx.x depends on what is known inside"},
        WrongKernel{"TooManyThreads", R"(for tx in T.thread_binding(100000, thread="threadIdx.x"):
    B[0] = 0)",
                    StatusCode::kResourceExhausted, "a kernel of 1 blocks of 100000 threads"}),
    kKernelName);

TEST(Kernel, RunsBeforeBarriersArePlacedWhereTheyAreImplied) {
  constexpr char kBody[] = R"(for bx in T.thread_binding(2, thread="blockIdx.x"):
    with T.decl_buffer((32,), "int32", scope="shared") as S:
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for k in range(2):
                S[tx] = A[bx * 32 + tx] + k
                B[bx * 32 + tx] = S[31 - tx])";
  EXPECT_THAT(RunKernel(kBody).status().message(), HasSubstr("a barrier is missing"));
  EXPECT_EQ(*RunKernel(kBody, {.implies_barriers = true}),
            Numbers([](int i) { return double(i / 32 * 32 + 32 - i % 32); }));
  EXPECT_THAT(
      RunKernel("for tx in T.thread_binding(4, thread=\"threadIdx.x\"):\n    B[0] = tx", {.implies_barriers = true})
          .status()
          .message(),
      HasSubstr("at once"));
}

TEST(Kernel, LeavesRacesAloneWhereNobodyAsks) {
  EXPECT_THAT(*RunKernel("for tx in T.thread_binding(64, thread=\"threadIdx.x\"):\n    for i in range(64):\n"
                         "        B[i] = 7",
                         {.check_races = false}),
              Each(7));
}

}  // namespace
}  // namespace lathe
