// lathe-runner with kernels of every bad kind: each costs one trial and is named for what it is.
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "runner/input_generator.h"
#include "runner/runner_process.h"
#include "runner/sandbox.h"
#include "runtime/cpu_features.h"
#include "tests/property_runs.h"
#include "tests/support/hang_guard.h"

namespace lathe {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using State = RunnerProcess::State;

#ifdef LATHE_SANITIZE
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

const RunnerOptions kOptions{.program = LATHE_BIN_DIR "/lathe-runner", .start_limit = kHangGuard};
constexpr int64_t kWallLimitNs = std::chrono::nanoseconds(kHangGuard).count();

RunSpec SpecFor(const char* file, const char* kernel) {
  RunSpec spec{.artifact_path = std::string(LATHE_TEST_KERNEL_DIR "/") + file + ".so", .kernel_name = kernel};
  spec.input_seed = 11;
  spec.memory_limit_bytes = 256 << 20;
  spec.policy.min_batch_ns = 1'000'000;  // Tests check what is said, not how exact it is.
  spec.policy.max_redone = 2;
  spec.policy.budget_ns = kWallLimitNs;  // Else a slow machine takes fewer repeats than five.
  spec.wall_limit_ns = kWallLimitNs;
  return spec;
}

RunOutcome RunSpecToEnd(const RunSpec& spec) {
  RuntimeResult<std::unique_ptr<RunnerProcess>> runner = RunnerProcess::Spawn(kOptions);
  if (!runner.ok()) return {.report = {.message = runner.error().message}};
  const RuntimeError started = (*runner)->Start(spec);
  if (!started.ok()) return {.report = {.message = started.message}};
  EXPECT_TRUE((*runner)->Wait(State::kFinished, kHangGuard));
  return (*runner)->outcome();
}

// Until the kernel is called; false where it never is.
bool WaitForTheKernel(RunnerProcess& runner) {
  while (runner.state() != State::kFinished && runner.progress().phase != RunPhase::kChecking) {
    pollfd events{.fd = runner.poll_fd(), .events = POLLIN, .revents = 0};
    poll(&events, 1, -1);
    runner.Poll();
  }
  return runner.state() != State::kFinished;
}

std::vector<pid_t> Descendants(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> found;
  for (pid_t child = 0; file >> child;) {
    found.push_back(child);
    for (const pid_t each : Descendants(child)) found.push_back(each);
  }
  return found;
}

// A process that nobody has waited for yet has ended, too.
bool IsRunning(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string id, name, state;
  return file >> id >> name >> state && state != "Z" && state != "X";
}

// A file with the sums A + B of two generated n-element tensors.
std::string WriteSumReference(uint64_t seed, int64_t n) {
  const std::string path =
      testing::TempDir() + "/lathe_reference_" + std::to_string(getpid()) + "_" + std::to_string(n);
  std::ofstream file(path, std::ios::binary);
  for (int64_t i = 0; i < n; ++i) {
    const double sum = InputValue(seed, 0, kFloat32, {}, i) + InputValue(seed, 1, kFloat32, {}, i);
    file.write(reinterpret_cast<const char*>(&sum), sizeof(sum));
  }
  return path;
}

TEST(Runner, ChecksAndTimesAKernel) {
  RunSpec spec = SpecFor("good", "add");
  spec.reference_path = WriteSumReference(spec.input_seed, 64 * 64);
  spec.tolerances = {1e-6};
  const RunOutcome outcome = RunSpecToEnd(spec);
  ASSERT_LE(outcome.report.status, RunStatus::kNoisy) << outcome.report.message;
  EXPECT_TRUE(outcome.report.checked);
  EXPECT_LE(outcome.report.max_error, 1e-6);
  EXPECT_GE(outcome.report.measured.samples_ns.size(), 3u);
  const auto [fastest, slowest] =
      std::minmax_element(outcome.report.measured.samples_ns.begin(), outcome.report.measured.samples_ns.end());
  EXPECT_GT(*fastest, 0);
  EXPECT_GE(outcome.report.measured.statistics.median, *fastest);
  EXPECT_LE(outcome.report.measured.statistics.median, *slowest);
}

TEST(Runner, RunsWithThreadsAndInEveryCacheRegime) {
  for (const CacheRegime regime : {CacheRegime::kHot, CacheRegime::kWarmWeights, CacheRegime::kCold}) {
    RunSpec spec = SpecFor("good", "matmul");
    spec.num_threads = 2;
    spec.cpus = AvailableCpus();
    spec.cpus.resize(std::min<size_t>(spec.cpus.size(), 2));
    spec.policy.regime = regime;
    const RunOutcome outcome = RunSpecToEnd(spec);
    EXPECT_LE(outcome.report.status, RunStatus::kNoisy) << CacheRegimeName(regime) << ": " << outcome.report.message;
  }
}

TEST(Runner, CensorsWhatIsFarSlowerThanTheIncumbent) {
  RunSpec spec = SpecFor("good", "matmul");
  spec.incumbent_ns = 10;
  spec.policy.max_other_share = 1e9;  // No load of the machine excuses a whole batch; of a shorter call a switch does.
  const RunOutcome outcome = RunSpecToEnd(spec);
  EXPECT_EQ(outcome.report.status, RunStatus::kCensored) << outcome.report.message;
  EXPECT_GE(outcome.report.measured.lower_bound_ns, 30);
}

struct BadKernelCase {
  const char* name;
  const char* file;
  const char* kernel;
  RunStatus status;
  int signal;  // -1: what ends it first is not told.
  const char* message;
  bool needs_limits = false;  // Cannot be shown under a sanitizer, which needs the memory or the signal itself.
};
class BadKernelTest : public testing::TestWithParam<BadKernelCase> {};
TEST_P(BadKernelTest, IsNamedForWhatItIs) {
  const BadKernelCase& c = GetParam();
  if (c.needs_limits && kSanitized) GTEST_SKIP() << "sanitizers reserve terabytes, so memory is not limited under them";
  RunSpec spec = SpecFor(c.file, c.kernel);
  if (std::strcmp(c.file, "wrong") == 0 || std::strcmp(c.file, "idle") == 0) {
    spec.reference_path = WriteSumReference(spec.input_seed, 32 * 32);
    spec.tolerances = {1e-6};
  }
  const RunOutcome outcome = RunSpecToEnd(spec);
  EXPECT_STREQ(RunStatusName(outcome.report.status), RunStatusName(c.status)) << outcome.report.message;
  if (c.signal >= 0) {
    EXPECT_EQ(outcome.report.signal, c.signal) << outcome.report.message;
  }
  EXPECT_THAT(outcome.report.message, HasSubstr(c.message));
  EXPECT_TRUE(outcome.runner_started);
}
INSTANTIATE_TEST_SUITE_P(
    Kernels, BadKernelTest,
    testing::Values(
        BadKernelCase{"WrongElement", "wrong", "add", RunStatus::kWrongResult, 0,
                      "check \"C\": element 77 at [2, 13] is"},
        BadKernelCase{"WrongLater", "wrong", "unstable", RunStatus::kWrongResult, 0,
                      "1024 of 1024 elements are wrong, largest error 1, after timing"},
        BadKernelCase{"WritesTheFirstTimeOnly", "idle", "add", RunStatus::kWrongResult, 0,
                      "1024 of 1024 elements are wrong, largest error 0, after timing"},
        BadKernelCase{"NullPointer", "crash", "segv", RunStatus::kCrash, SIGSEGV, "SIGSEGV at address 0x40"},
        BadKernelCase{"IllegalInstruction", "crash", "ill", RunStatus::kCrash, SIGILL, "SIGILL"},
        BadKernelCase{"WorkspaceHog", "hog", "workspace", RunStatus::kOutOfMemory, 0,
                      "out of scratch memory, 8388608 bytes refused with", true},
        BadKernelCase{"MappingHog", "hog", "mapping", RunStatus::kOutOfMemory, SIGSEGV,
                      "of 268435456 bytes in use, then SIGSEGV on a refused allocation", true},
        BadKernelCase{"WritesBesideItsBuffer", "outside", "near", RunStatus::kWrongResult, 0,
                      "check buffer \"C\": the kernel wrote up to 4 bytes past its end"},
        BadKernelCase{"WritesFarOutside", "outside", "far", RunStatus::kCrash, SIGSEGV,
                      "touched memory 4001 bytes past the end of buffer \"C\""},
        BadKernelCase{"ReturnsAnError", "refuse", "refuse", RunStatus::kKernelError, 0,
                      "kernel returned error 1: extent of A is 32, a multiple of 48 required"},
        BadKernelCase{"ExitsTheProcess", "refuse", "leave", RunStatus::kRunnerError, 0,
                      "exited with code 0 without a report"},
        BadKernelCase{"OverflowsItsStack", "hostile_stack", "overflows", RunStatus::kCrash, SIGSEGV, "SIGSEGV"},
        BadKernelCase{"Aborts", "hostile_stack", "aborts", RunStatus::kCrash, SIGABRT, "SIGABRT"},
        BadKernelCase{"ForgesAReport", "hostile_reports", "forges", RunStatus::kKernelError, -1,
                      "it sent a record of its own making in the runner's name"},
        BadKernelCase{"ForgesProgress", "hostile_reports", "babbles", RunStatus::kKernelError, -1,
                      "it sent a record of its own making in the runner's name"},
        BadKernelCase{"OtherAbi", "other_abi", "add", RunStatus::kBadArtifact, 0, "kernel ABI 99"},
        BadKernelCase{"OtherCpu", "other_cpu", "add", RunStatus::kBadArtifact, 0, "this CPU lacks sse9"},
        BadKernelCase{"NoSuchKernel", "good", "conv", RunStatus::kBadArtifact, 0, "no such kernel"},
        BadKernelCase{"NoSuchFile", "absent", "add", RunStatus::kBadArtifact, 0, "No such file or directory"}),
    [](const auto& info) { return info.param.name; });

struct ForbiddenCase {
  const char* name;
  const char* file;
  const char* kernel;
  const char* call;
};
class ForbiddenCallTest : public testing::TestWithParam<ForbiddenCase> {};
TEST_P(ForbiddenCallTest, EndsTheKernelByName) {
  if (kSanitized) GTEST_SKIP() << "sanitizers make calls of their own, so none are forbidden";
  const RunOutcome outcome = RunSpecToEnd(SpecFor(GetParam().file, GetParam().kernel));
  EXPECT_STREQ(RunStatusName(outcome.report.status), RunStatusName(RunStatus::kCrash)) << outcome.report.message;
  EXPECT_EQ(outcome.report.signal, SIGSYS);
  EXPECT_THAT(outcome.report.message, AllOf(HasSubstr("run kernel: made system call"),
                                            HasSubstr(std::string("(") + GetParam().call + "), which no kernel may")));
}
INSTANTIATE_TEST_SUITE_P(Kernels, ForbiddenCallTest,
                         testing::Values(ForbiddenCase{"ForkBomb", "hostile_processes", "bomb", "clone"},
                                         ForbiddenCase{"LeavesItsGroup", "hostile_processes", "escape", "clone"},
                                         ForbiddenCase{"ReadsFiles", "hostile_files", "reads", "openat"},
                                         ForbiddenCase{"FillsTheDisk", "hostile_files", "fills", "openat"},
                                         ForbiddenCase{"FloodsAFolder", "hostile_folders", "floods", "mkdirat"},
                                         ForbiddenCase{"Mounts", "hostile_folders", "mounts", "mount"},
                                         ForbiddenCase{"OpensASocket", "hostile_network", "opens", "socket"},
                                         ForbiddenCase{"ConnectsToTheServer", "hostile_network", "connects", "socket"},
                                         ForbiddenCase{"KillsEverything", "hostile_signals", "kills", "kill"},
                                         ForbiddenCase{"TracesTheSupervisor", "hostile_signals", "traces", "ptrace"}),
                         [](const auto& info) { return info.param.name; });

TEST(Runner, RunsNothingOfAModuleWhenItIsLoaded) {
  const RunOutcome outcome = RunSpecToEnd(SpecFor("constructor", "add"));
  EXPECT_STREQ(RunStatusName(outcome.report.status), RunStatusName(RunStatus::kBadArtifact));
  EXPECT_THAT(outcome.report.message, HasSubstr("it has a constructor or a destructor"));
}

TEST(Runner, NamesWhatItsSandboxLacks) {
  RunnerOptions options = kOptions;
  options.required_sandbox = kSandboxProcesses | kSandboxMemory;
  const std::unique_ptr<RunnerProcess> runner = *RunnerProcess::Spawn(options);
  ASSERT_TRUE(runner->Wait(State::kFinished, kHangGuard));
  EXPECT_EQ(runner->outcome().report.status, RunStatus::kRunnerError);
  EXPECT_THAT(runner->outcome().report.message, HasSubstr("start runner: its sandbox lacks memory (it has processes"));
}

TEST(Runner, NamesInputsThatDoNotFitTheMemoryLimit) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve terabytes, so memory is not limited under them";
  const RunOutcome outcome = RunSpecToEnd(SpecFor("large", "add"));
  EXPECT_EQ(outcome.report.status, RunStatus::kOutOfMemory);
  EXPECT_THAT(outcome.report.message,
              HasSubstr("make inputs: buffer \"B\": allocate a buffer of 134217728 bytes: Cannot allocate memory"));
}

TEST(Runner, NamesAReferenceOfAnotherSize) {
  RunSpec spec = SpecFor("good", "add");
  spec.reference_path = WriteSumReference(spec.input_seed, 5);
  spec.tolerances = {0};
  EXPECT_THAT(RunSpecToEnd(spec).report.message, HasSubstr("40 bytes, the outputs need 32768"));
}

// `spin` burns CPU time, `sleep` waits in the kernel.
class EndlessKernelTest : public testing::TestWithParam<const char*> {};
TEST_P(EndlessKernelTest, EndsAtTheWallLimit) {
  int64_t ahead_ns = 0;
  RunnerOptions options = kOptions;
  options.now_ns = [&] { return MonotonicNs() + ahead_ns; };
  const std::unique_ptr<RunnerProcess> runner = *RunnerProcess::Spawn(options);
  ASSERT_TRUE(runner->Start(SpecFor("endless", GetParam())).ok());
  ASSERT_TRUE(WaitForTheKernel(*runner));
  ahead_ns = kWallLimitNs / 2;
  runner->Poll();
  EXPECT_EQ(runner->state(), State::kRunning);
  ahead_ns = kWallLimitNs;
  runner->Poll();
  ASSERT_TRUE(runner->Wait(State::kFinished, kHangGuard));
  const RunReport& report = runner->outcome().report;
  EXPECT_STREQ(RunStatusName(report.status), RunStatusName(RunStatus::kRunTimeout)) << report.message;
  EXPECT_EQ(report.signal, SIGTERM);
  EXPECT_EQ(report.message, "run kernel: not done after the wall limit of 8.64e+04 s, while checking");
}
INSTANTIATE_TEST_SUITE_P(Kernels, EndlessKernelTest, testing::Values("spin", "sleep"),
                         [](const auto& info) { return std::string(info.param); });

TEST(RunnerProcess, EndsATrialThatNeverLoadsItsModule) {
  int64_t ahead_ns = 0;
  RunnerOptions options = kOptions;
  options.now_ns = [&] { return MonotonicNs() + ahead_ns; };
  const std::unique_ptr<RunnerProcess> runner = *RunnerProcess::Spawn(options);
  ASSERT_TRUE(runner->Wait(State::kReady, kHangGuard));
  const std::vector<pid_t> family = Descendants(runner->pid());
  kill(family.empty() ? runner->pid() : family.back(), SIGSTOP);  // The trial itself.
  ASSERT_TRUE(runner->Start(SpecFor("good", "add")).ok());
  ASSERT_TRUE(runner->Wait(State::kRunning, kHangGuard));
  ahead_ns = kWallLimitNs;
  runner->Poll();
  ahead_ns += 2 * std::chrono::nanoseconds(options.term_grace).count();  // Who is stopped takes no SIGTERM.
  ASSERT_TRUE(runner->Wait(State::kFinished, kHangGuard));
  EXPECT_STREQ(RunStatusName(runner->outcome().report.status), RunStatusName(RunStatus::kRunTimeout));
  EXPECT_THAT(runner->outcome().report.message,
              HasSubstr("not done after the wall limit of 8.64e+04 s, while loading"));
}

// Nothing that a trial has started outlives it, whoever of its processes is killed.
TEST(RunnerProcess, LeavesNothingBehindWhenItIsKilled) {
  const std::unique_ptr<RunnerProcess> runner = *RunnerProcess::Spawn(kOptions);
  ASSERT_TRUE(runner->Start(SpecFor("endless", "spin")).ok());
  ASSERT_TRUE(WaitForTheKernel(*runner));
  const std::vector<pid_t> family = Descendants(runner->pid());
  ASSERT_GE(family.size(), 1u);
  kill(runner->pid(), SIGKILL);  // The outermost, which else waits for the others.
  ASSERT_TRUE(runner->Wait(State::kFinished, kHangGuard));
  for (const pid_t process : family) EXPECT_FALSE(IsRunning(process)) << process;
}

TEST(RunnerProcess, WaitsReadyWhileAnotherOneRuns) {
  const std::unique_ptr<RunnerProcess> running = *RunnerProcess::Spawn(kOptions),
                                       spare = *RunnerProcess::Spawn(kOptions);
  RunSpec endless = SpecFor("endless", "spin");
  ASSERT_TRUE(running->Start(endless).ok());
  ASSERT_TRUE(spare->Wait(State::kReady, kHangGuard));
  running->Stop(RunStatus::kRunTimeout, "the lease has ended");
  ASSERT_TRUE(running->Wait(State::kFinished, kHangGuard));
  EXPECT_EQ(running->outcome().report.message, "the lease has ended");
  ASSERT_TRUE(spare->Start(SpecFor("good", "add")).ok());
  ASSERT_TRUE(spare->Wait(State::kFinished, kHangGuard));
  EXPECT_LE(spare->outcome().report.status, RunStatus::kNoisy) << spare->outcome().report.message;
  EXPECT_THAT(spare->Start(SpecFor("good", "add")).message, HasSubstr("take a fresh one"));
}

TEST(RunnerProcess, NamesARunnerThatIsKilledBeforeItsTrial) {
  const std::unique_ptr<RunnerProcess> runner = *RunnerProcess::Spawn(kOptions);
  ASSERT_TRUE(runner->Wait(State::kReady, kHangGuard));
  kill(runner->pid(), SIGKILL);
  ASSERT_TRUE(runner->Wait(State::kFinished, kHangGuard));
  EXPECT_EQ(runner->outcome().report.status, RunStatus::kRunnerError);
  EXPECT_THAT(runner->outcome().report.message, HasSubstr("ended by signal 9 before it had a trial"));
}

TEST(RunnerProcess, NamesAProgramThatIsNoRunner) {
  EXPECT_THAT(RunnerProcess::Spawn({.program = "/nonexistent/lathe-runner"}).error().message,
              AllOf(HasSubstr("No such file"), HasSubstr("is lathe-runner installed")));
  const std::unique_ptr<RunnerProcess> other = *RunnerProcess::Spawn({.program = "/bin/true"});
  ASSERT_TRUE(other->Wait(State::kFinished, kHangGuard));
  EXPECT_THAT(other->outcome().report.message, HasSubstr("before it had a trial"));
  const std::unique_ptr<RunnerProcess> mute =  // Sleeps for as many seconds as our process id says.
      *RunnerProcess::Spawn({.program = "/bin/sleep", .start_limit = milliseconds(50)});
  ASSERT_TRUE(mute->Wait(State::kFinished, kHangGuard));
  EXPECT_EQ(mute->outcome().report.message, "start runner: not ready after 0.05 s");
}

TEST(RunnerProtocol, RoundTripsASpec) {
  RunSpec spec = SpecFor("good", "add");
  spec.tolerances = {0.5, 0};
  spec.symbol_values = {7};
  spec.input_ranges = {{2, {0, 99}}, {5, {-3, -3}}};
  spec.cpus = {1, 3};
  spec.policy.regime = CacheRegime::kCold;
  const RuntimeResult<std::vector<std::byte>> record = EncodeSpec(spec);
  ASSERT_TRUE(record.ok()) << record.error().message;
  const RuntimeResult<RunSpec> back = DecodeSpec(*record);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->artifact_path, spec.artifact_path);
  EXPECT_EQ(back->tolerances, spec.tolerances);
  EXPECT_EQ(back->cpus, spec.cpus);
  EXPECT_EQ(back->input_ranges, spec.input_ranges);
  EXPECT_EQ(back->policy.regime, CacheRegime::kCold);
  EXPECT_EQ(*EncodeSpec(*back), *record);
  spec.input_ranges = {{2, {1, 0}}};
  EXPECT_THAT(EncodeSpec(spec).error().message, HasSubstr("input range of parameter 2 from 1 to 0"));
  spec.input_ranges.clear();
  spec.kernel_name = std::string(5000, 'k');
  EXPECT_THAT(EncodeSpec(spec).error().message, HasSubstr("kernel name of 5000 bytes, at most 1023"));
}

TEST(RunnerProtocol, BelievesNoReportUnchecked) {
  RunReport report{.status = RunStatus::kOk};
  EXPECT_THAT(DecodeReport(EncodeReport(report)).error().message, HasSubstr("a timed status without samples"));
  report.measured.samples_ns = {1, -2};
  EXPECT_THAT(DecodeReport(EncodeReport(report)).error().message, HasSubstr("sample 1 is -2 ns"));
  report.measured.samples_ns = {1, 2};
  report.message = "line\nwith \x1b[31m escape";
  EXPECT_EQ(DecodeReport(EncodeReport(report))->message, "line with ?[31m escape");
  std::vector<std::byte> bytes = EncodeReport(report);
  const uint64_t seed = 5;
  uint64_t state = seed;
  for (int round = 0; round < PropertyRuns(20000); ++round) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const size_t at = (state >> 33) % 200;
    const std::byte original = std::exchange(bytes[at], static_cast<std::byte>(state >> 20));
    const RuntimeResult<RunReport> decoded = DecodeReport(bytes);
    ASSERT_TRUE(!decoded.ok() || decoded->measured.samples_ns.size() <= kMaxSamples) << "seed " << seed;
    bytes[at] = original;
  }
  for (size_t size = 0; size < bytes.size(); size += 7) EXPECT_FALSE(DecodeReport(std::span(bytes).first(size)).ok());
}

TEST(ClassifyRunnerEnd, TellsTimeoutsMemoryAndGarbageApart) {
  RunnerEnd end{
      .wait_status = W_EXITCODE(0, SIGXCPU), .was_ready = true, .had_spec = true, .cpu_limit_ns = 2'000'000'000};
  EXPECT_EQ(ClassifyRunnerEnd(end).status, RunStatus::kRunTimeout);
  end.wait_status = W_EXITCODE(0, SIGKILL);
  end.memory_limit_bytes = int64_t{1} << 30;
  end.max_resident_bytes = int64_t{900} << 20;
  EXPECT_EQ(ClassifyRunnerEnd(end).status, RunStatus::kOutOfMemory);
  EXPECT_THAT(ClassifyRunnerEnd(end).message, HasSubstr("it held 900 MiB"));
  end.max_resident_bytes = int64_t{9} << 20;
  EXPECT_EQ(ClassifyRunnerEnd(end).status, RunStatus::kRunnerError)
      << "somebody killed it; that says nothing about the kernel";
  end.cpu_ns = 2'100'000'000;
  EXPECT_EQ(ClassifyRunnerEnd(end).status, RunStatus::kRunTimeout);
  end.wait_status = W_EXITCODE(0, SIGBUS);
  EXPECT_THAT(ClassifyRunnerEnd(end).message, HasSubstr("SIGBUS"));
  end.wait_status = 0;
  end.protocol_error = "decode record: magic 0x0";
  EXPECT_THAT(ClassifyRunnerEnd(end).message, HasSubstr("the runner sent garbage: decode record: magic 0x0"));
}

}  // namespace
}  // namespace lathe
