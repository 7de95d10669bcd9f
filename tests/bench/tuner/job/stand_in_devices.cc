#include "tests/bench/tuner/job/stand_in_devices.h"

#include <time.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "rpc/device/device_session.h"
#include "rpc/device_link.h"
#include "rpc/machine_identity.h"
#include "runtime/kernel_abi.h"
#include "support/check.h"

namespace lathe {
namespace {

namespace asio = boost::asio;

DeviceSessionOptions SessionOptions(const StandIn& device, uint64_t instance) {
  DeviceSessionOptions options{.build_id = "stand-in", .instance = instance};
  options.facts.set_name(device.name);
  options.facts.set_key(device.key);
  options.facts.set_arch("x86_64");
  options.facts.set_kernel_abi(LATHE_KERNEL_ABI_VERSION);
  return options;
}

// Each is a little faster than the one before, so that no search ends at a plateau.
v1::MeasureResult OutcomeOf(int64_t number) {
  const double median_ns = 1e9 / (1 + 1e-3 * static_cast<double>(number));
  v1::MeasureResult outcome;
  outcome.set_status(v1::MEASURE_STATUS_OK);
  for (int i = 0; i < 20; ++i) outcome.add_samples_ns(median_ns);
  outcome.set_total_calls(20);
  v1::TimeStats& stats = *outcome.mutable_stats();
  stats.set_median_ns(median_ns);
  stats.set_min_ns(median_ns);
  stats.set_p10_ns(median_ns);
  stats.set_p90_ns(median_ns);
  return outcome;
}

class Device {
 public:
  // `results`, of all devices together, is counted on.
  Device(asio::io_context& io, int64_t& results, const StandInOptions& options, const StandIn& self, uint64_t seed)
      : io_(io),
        results_(results),
        options_(options),
        self_(self),
        session_(SessionOptions(self, seed), Random(seed)),
        wake_(io),
        redial_(io),
        run_(io) {}

  void Dial() {
    DialEndpoint(io_, options_.place, [this](const StatusOr<int>& socket) {
      if (socket.ok()) return Connect(*socket);
      Handle(LinkDown{socket.status().message()});
    });
  }
  bool is_welcome() const { return session_.is_welcome(); }
  Duration TakeBusy() {
    Stop(measuring_since_ != TimePoint{});
    return std::exchange(busy_, Duration(0));
  }
  std::vector<int64_t> TakeGaps() { return std::exchange(gaps_ns_, {}); }
  int64_t TakeAcknowledged() { return std::exchange(acknowledged_, 0); }

 private:
  void Connect(int socket) {
    std::shared_ptr<TlsContext> tls;
    if (!self_.identity_path.empty()) {
      const StatusOr<MachineIdentity> identity = MachineIdentity::Read(self_.identity_path);
      CHECK(identity.ok()) << identity.status().message();
      tls = *TlsContext::ForClient(identity->own);
    }
    link_ = std::make_unique<DeviceLink>(
        io_, socket, tls,
        DeviceLink::Handlers{[this](DeviceMessage message) { Handle(MessageArrived{std::move(message)}); },
                             [this](const TlsPeer&) { Handle(LinkUp{}); },
                             [this](const std::string& reason) {
                               link_.reset();
                               Handle(LinkDown{reason});
                             }});
    if (tls == nullptr) Handle(LinkUp{});
  }

  void Handle(DeviceEvent event) {
    events_.push_back(std::move(event));
    if (std::exchange(is_stepping_, true)) return;
    while (!events_.empty()) {
      const DeviceEvent next = std::move(events_.front());
      events_.pop_front();
      for (DeviceAction& action : session_.Step(next, SystemClock().Now()))
        std::visit([this](auto& a) { Do(a); }, action);
    }
    is_stepping_ = false;
    SetAlarm();
  }

  // Deadlines move with each message; the alarm is only set anew when it is too late or has gone off.
  void SetAlarm() {
    const std::optional<TimePoint> deadline = session_.NextDeadline();
    if (!deadline || (alarm_ && *alarm_ <= *deadline)) return;
    alarm_ = deadline;
    wake_.expires_at(*deadline);
    wake_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      alarm_.reset();
      Handle(TimeCame{});
    });
  }

  void Do(SendMessage& action) {
    if (link_) link_->Send(action.message);
  }
  void Do(CloseLink&) { link_.reset(); }
  void Do(ReconnectAfter& action) {
    redial_.expires_after(action.delay);
    redial_.async_wait([this](boost::system::error_code error) {
      if (!error) Dial();
    });
  }
  void Do(TellOperator&) {}
  void Do(LookUpBlob& action) {
    events_.push_back(BlobLookedUp{action.digest, blobs_.contains(action.digest), written_[action.digest]});
  }
  void Do(ReleaseBlob&) {}
  void Do(WriteBlob& action) {
    int64_t& written = written_[action.digest];
    written = action.offset + static_cast<int64_t>(action.data.size());
    if (written >= action.size) blobs_.insert(action.digest);
    events_.push_back(BlobWritten{action.digest, OkStatus(), written >= action.size, written});
  }
  void Do(SpoolResult&) {}
  void Do(DeleteSpooled&) { ++acknowledged_; }

  void Do(StartRunner& action) { events_.push_back(RunnerIsReady{action.runner}); }
  void Do(GoRunner& action) {
    const TimePoint now = SystemClock().Now();
    if (ended_at_ != TimePoint{}) gaps_ns_.push_back((now - ended_at_).count());
    measuring_since_ = now;
    events_.push_back(RunnerWent{action.runner});
    events_.push_back(RunnerIsTiming{action.runner, true});
    run_.expires_after(options_.trial);
    run_.async_wait([this, id = action.runner](boost::system::error_code error) {
      if (!error) End(id);
    });
  }
  void Do(KillRunner& action) {
    Stop(false);
    run_.cancel();
    v1::MeasureResult outcome;
    outcome.set_status(v1::MEASURE_STATUS_CRASH);
    events_.push_back(RunnerEnded{action.runner, std::move(outcome)});
  }
  void End(RunnerId id) {
    Stop(false);
    ended_at_ = SystemClock().Now();
    Handle(RunnerIsTiming{id, false});
    Handle(RunnerEnded{id, OutcomeOf(results_++)});
  }
  void Stop(bool goes_on) {
    const TimePoint now = SystemClock().Now();
    if (measuring_since_ != TimePoint{}) busy_ += now - measuring_since_;
    measuring_since_ = goes_on ? now : TimePoint{};
  }

  asio::io_context& io_;
  int64_t& results_;
  const StandInOptions& options_;
  const StandIn& self_;
  DeviceSession session_;
  std::unique_ptr<DeviceLink> link_;
  asio::steady_timer wake_, redial_, run_;
  std::optional<TimePoint> alarm_;
  std::deque<DeviceEvent> events_;
  bool is_stepping_ = false;
  std::set<Digest> blobs_;
  std::map<Digest, int64_t> written_;
  TimePoint measuring_since_{}, ended_at_{};
  Duration busy_{};
  std::vector<int64_t> gaps_ns_;
  int64_t acknowledged_ = 0;
};

Duration CpuOfThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

}  // namespace

class StandInDevices::Impl {
 public:
  explicit Impl(StandInOptions options)
      : options_(std::move(options)), work_(io_.get_executor()), reported_at_(SystemClock().Now()) {
    uint64_t seed = 1;
    for (const StandIn& device : options_.devices)
      devices_.push_back(std::make_unique<Device>(io_, results_, options_, device, seed++));
    DialSome(0);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Impl() {
    io_.stop();
    thread_.join();
  }
  StandInReport TakeReport() {
    std::promise<StandInReport> report;
    asio::post(io_, [&] { report.set_value(Report()); });
    return report.get_future().get();
  }

 private:
  static constexpr size_t kDialledAtOnce = 16;  // A gateway lets few strangers wait.

  void DialSome(size_t first) {
    for (size_t i = first; i < std::min(first + kDialledAtOnce, devices_.size()); ++i) devices_[i]->Dial();
    if (first + kDialledAtOnce >= devices_.size()) return;
    dialling_.expires_after(std::chrono::milliseconds(50));
    dialling_.async_wait([this, first](boost::system::error_code) { DialSome(first + kDialledAtOnce); });
  }

  StandInReport Report() {
    const TimePoint now = SystemClock().Now();
    const auto span = static_cast<double>((now - std::exchange(reported_at_, now)).count());
    StandInReport report;
    for (const std::unique_ptr<Device>& device : devices_) {
      report.busy.push_back(static_cast<double>(device->TakeBusy().count()) / span);
      const std::vector<int64_t> gaps = device->TakeGaps();
      report.gaps_ns.insert(report.gaps_ns.end(), gaps.begin(), gaps.end());
      report.acknowledged += device->TakeAcknowledged();
      report.welcome += device->is_welcome() ? 1 : 0;
    }
    const Duration cpu = CpuOfThread();
    report.cpu = cpu - std::exchange(reported_cpu_, cpu);
    return report;
  }

  const StandInOptions options_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::steady_timer dialling_{io_};
  int64_t results_ = 0;
  std::vector<std::unique_ptr<Device>> devices_;
  TimePoint reported_at_;
  Duration reported_cpu_{};
  std::thread thread_;  // Last: it uses all of the above.
};

StandInDevices::StandInDevices(StandInOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
StandInDevices::~StandInDevices() = default;
StandInReport StandInDevices::TakeReport() { return impl_->TakeReport(); }

}  // namespace lathe
