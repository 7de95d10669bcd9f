// How busy a farm keeps its device: with a stand-in that sleeps 50 ms per trial and shares no core, everything else
// being real (coordinator, store on disk, gateway, device server, worker); and with the real programs of this build on
// one CPU of this machine.
//
//   busy          share of the time between the first and the last trial in which the device was at one
//   gap_*_ms      time from the end of one measurement to the start of the next: median, 90th percentile, longest
//   commit_ms     median time from a module built to its record on disk
#include <benchmark/benchmark.h>

#include "rpc/machine_identity.h"
#include "tests/tuner/job/fake_farm.h"
#include "tuner/job/embedded.h"
#include "tuner/service/machine_registrar.h"

namespace lathe {
namespace {

constexpr Duration kTrial = std::chrono::milliseconds(50);
constexpr int kTrials = 100, kRealTrials = 40;

void Count(benchmark::State& state, const JobProgress& progress) {
  std::vector<int64_t> gaps = progress.latencies.idle_gap_ns;
  std::sort(gaps.begin(), gaps.end());
  state.counters["gap_ms"] = MedianNs(gaps) / 1e6;
  state.counters["gap_p90_ms"] = gaps.empty() ? 0 : static_cast<double>(gaps[gaps.size() * 9 / 10]) / 1e6;
  state.counters["gap_max_ms"] = gaps.empty() ? 0 : static_cast<double>(gaps.back()) / 1e6;
  state.counters["commit_ms"] = MedianNs(progress.latencies.built_to_commit_ns) / 1e6;
  state.counters["result_to_commit_ms"] = MedianNs(progress.latencies.result_to_commit_ns) / 1e6;
}

PretendedDevice Sleeper(std::vector<TimePoint>& starts) {  // Written on the device's thread.
  return [&starts](const v1::MeasureSpec& spec) {
    PretendedRun run = ByTrialId(spec);
    run.takes = kTrial;
    run.at_go = [&starts] { starts.push_back(SystemClock().Now()); };
    return run;
  };
}

void Measure(benchmark::State& state, FakeFarm& farm, const std::vector<TimePoint>& starts) {
  const int64_t job = farm.Submit(kTrials);
  if (!farm.WaitFor(job)) return state.SkipWithError("the job did not end");
  const JobProgress progress = *farm.coordinator().Progress(job);
  farm.RemoveDevices();
  const auto span = static_cast<double>((starts.back() + kTrial - starts.front()).count());
  Duration idle{};
  for (const int64_t gap : progress.latencies.idle_gap_ns) idle += Duration(gap);
  state.counters["busy"] = 1 - static_cast<double>(idle.count()) / span;
  // What is missing here is trials that lasted longer: on a loaded machine a sleeper wakes late.
  state.counters["busy_nominal"] = static_cast<double>(kTrial.count()) * static_cast<double>(starts.size()) / span;
  Count(state, progress);
}

void BM_StandInDevice(benchmark::State& state) {
  for (auto _ : state) {
    FakeFarm farm({.database = "lathe.db"});
    std::vector<TimePoint> starts;
    farm.AddDevice("d1", Sleeper(starts));
    Measure(state, farm, starts);
  }
}
BENCHMARK(BM_StandInDevice)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

// The same over TCP and TLS, by a device that has joined.
void BM_StandInDeviceOverTls(benchmark::State& state) {
  for (auto _ : state) {
    TemporaryFolder folder;
    const std::string database = folder / "farm.db", identity = folder / "identity.pem";
    const StatusOr<Authority> authority = MakeAuthorityBeside(database, {}, SystemClock().UnixNanos());
    FakeFarm farm({.database = "lathe.db",
                   .make_authenticator = [&](Store& store) -> StatusOr<std::unique_ptr<MachineAuthenticator>> {
                     return std::unique_ptr<MachineAuthenticator>(*MachineRegistrar::Make(store, database));
                   }});
    const InvitationCode code{DrawSecret<16>(), *CertificateDigest(authority->authority.certificate_pem)};
    (void)farm.store().Invite({code.SecretDigest(), Role::kDevice, "d1", std::chrono::hours(1)}, "a benchmark");
    const Endpoint place = *farm.coordinator().gateway().Listen({.host = "127.0.0.1"});
    const auto joined = JoinFarm(place, code, {Role::kDevice, "d1"}, std::chrono::seconds(20));
    if (!joined.ok() || !joined->Write(identity).ok()) return state.SkipWithError(joined.status().message().c_str());
    std::vector<TimePoint> starts;
    farm.AddDeviceAt(place, identity, "d1", Sleeper(starts));
    Measure(state, farm, starts);
  }
}
BENCHMARK(BM_StandInDeviceOverTls)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

void BM_ThisMachine(benchmark::State& state) {
  for (auto _ : state) {
    TemporaryFolder folder;
    const PrimFunc func = *ParsePrimFunc(kMatmulText, "bench.py");
    auto farm = EmbeddedFarm::Start({.database_path = folder / "lathe.db",
                                     .cpus = {0},
                                     .cpu_lock_directory = folder.path() + "/locks",
                                     .program_directory = LATHE_BIN_DIR});
    if (!farm.ok()) return state.SkipWithError(farm.status().message().c_str());
    HostFacts host = DetectHost();
    host.num_cores = 1;
    JobRequest request{.request_id = "bench", .name = "bench"};
    request.spec.total_trials = kRealTrials;
    request.tasks.push_back({.workload = {WorkloadDigest(func), func.name, kMatmulText},
                             .name = func.name,
                             .target = Target::Parse("auto", host)->ToString(),
                             .trial_budget = kRealTrials});
    Coordinator& coordinator = (*farm)->coordinator();
    const int64_t job = coordinator.SubmitJob(request)->job.id;
    if (!coordinator.WaitForJob(job, std::chrono::minutes(5))) return state.SkipWithError("the job did not end");
    const JobProgress progress = *coordinator.Progress(job);
    const double total = static_cast<double>(progress.shares.total().count());
    state.counters["measuring"] = static_cast<double>(progress.shares.measuring.count()) / total;
    state.counters["building"] = static_cast<double>(progress.shares.building.count()) / total;
    state.counters["searching"] = static_cast<double>(progress.shares.searching.count()) / total;
    state.counters["idle"] = static_cast<double>(progress.shares.idle.count()) / total;
    Count(state, progress);
  }
}
BENCHMARK(BM_ThisMachine)->Iterations(1)->Unit(benchmark::kSecond)->UseRealTime();

}  // namespace
}  // namespace lathe

BENCHMARK_MAIN();
