#include "rpc/device/device_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <random>
#include <utility>

#include "rpc/device/device_session.h"
#include "rpc/device/result_spool.h"
#include "rpc/device_link.h"
#include "rpc/machine_identity.h"
#include "support/blob_store.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

namespace asio = boost::asio;

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// Held until closed. Two servers on one folder would delete each other's results.
StatusOr<int> LockFolder(const std::string& directory) {
  const std::string path = directory + "/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0)
    return Unavailable(fmt::format("open device data {}: {}; choose another --data", directory, std::strerror(errno)));
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  close(fd);
  return FailedPrecondition(
      fmt::format("open device data {}: another device uses it; choose another --data", directory));
}

int64_t FreeDisk(const std::string& directory) {
  struct statvfs info{};
  if (statvfs(directory.c_str(), &info) != 0) return 0;
  return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
}

}  // namespace

class DeviceServer::Impl {
 public:
  Impl(DeviceServerOptions options, TrialRunnerFactory& factory, BlobStore blobs, ResultSpool spool, int lock)
      : options_(std::move(options)),
        factory_(factory),
        blobs_(std::move(blobs)),
        spool_(std::move(spool)),
        lock_(lock),
        sensors_(BoardSensors::Find(options_.system_root)),
        session_({.facts = options_.facts,
                  .build_id = options_.build_id,
                  .instance = RandomSeed(),
                  .spooled = spool_.Load(),
                  .start_below_c = sensors_.start_below_c()},
                 Random(RandomSeed())),
        wake_(io_),
        redial_(io_) {}

  ~Impl() { close(lock_); }

  void Run() {
    Dial();
    io_.run();
    link_.reset();
    for (auto& [id, running] : runners_) (void)running->watch.release();
    runners_.clear();  // Ends their process groups.
  }

  void Stop() {
    asio::post(io_, [this] { io_.stop(); });
  }

 private:
  struct Running {
    Running(asio::io_context& io, std::unique_ptr<TrialRunner> started)
        : runner(std::move(started)), watch(io, runner->event_fd()) {}
    std::unique_ptr<TrialRunner> runner;
    asio::posix::stream_descriptor watch;  // Of the runner's descriptor; released, never closed.
  };

  // Steps the session through `event` and all that follows from it.
  void Handle(DeviceEvent event) {
    events_.push_back(std::move(event));
    if (is_stepping_) return;
    is_stepping_ = true;
    while (!events_.empty()) {
      const DeviceEvent next = std::move(events_.front());
      events_.pop_front();
      for (DeviceAction& action : session_.Step(next, Now())) std::visit([this](auto& a) { Do(a); }, action);
    }
    is_stepping_ = false;
    SetAlarm();
  }

  static TimePoint Now() { return SystemClock().Now(); }

  void SetAlarm() {
    const std::optional<TimePoint> deadline = session_.NextDeadline();
    if (deadline == alarm_) return;
    alarm_ = deadline;
    wake_.cancel();
    if (!deadline) return;
    wake_.expires_at(*deadline);
    wake_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      alarm_ = std::nullopt;
      session_.SetFreeDisk(FreeDisk(options_.data_directory));
      ReadBoard();
      Handle(TimeCame{});
    });
  }

  // ---- The link.

  void Dial() {
    if (const auto* maker = std::get_if<SocketMaker>(&options_.server)) return Connected((*maker)());
    DialEndpoint(io_, std::get<Endpoint>(options_.server),
                 [this](StatusOr<int> socket) { Connected(std::move(socket)); });
  }

  void Connected(StatusOr<int> socket) {
    if (!socket.ok()) {
      return Lose(socket.status().message());
    }
    const Status status = Link(*socket);
    if (!status.ok()) {
      close(*socket);
      Lose(status.message());
    }
  }

  bool IsEncrypted() const {
    const auto* endpoint = std::get_if<Endpoint>(&options_.server);
    return !options_.identity_path.empty() && endpoint != nullptr && endpoint->unix_path.empty();
  }

  Status Link(int socket) {
    std::shared_ptr<TlsContext> tls;
    if (IsEncrypted()) {
      ASSIGN_OR_RETURN(identity_, MachineIdentity::Read(options_.identity_path));
      ASSIGN_OR_RETURN(tls, TlsContext::ForClient(identity_.own));
    }
    link_ = std::make_unique<DeviceLink>(
        io_, socket, tls,
        DeviceLink::Handlers{[this](DeviceMessage message) { Handle(MessageArrived{std::move(message)}); },
                             [this](const TlsPeer& server) { Trust(server); },
                             [this](const std::string& reason) { Lose(reason); }});
    if (tls == nullptr) Up();
    return OkStatus();
  }

  void Trust(const TlsPeer& server) {
    const Status status =
        CheckServer(server, identity_.authority_pem, identity_.own.certificate_pem, SystemClock().UnixNanos());
    if (status.ok()) return Up();
    Lose(status.message());
  }

  void Up() {
    said_lost_.clear();
    Handle(LinkUp{});
  }

  void Lose(const std::string& reason) {
    link_.reset();
    if (std::exchange(said_lost_, reason) != reason) options_.log(reason + "; trying again");
    Handle(LinkDown{reason});
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
  void Do(TellOperator& action) { options_.log(action.text); }

  // ---- Disk.

  void Do(LookUpBlob& action) {
    blobs_.Pin(action.digest);
    events_.push_back(BlobLookedUp{action.digest, blobs_.Contains(action.digest), blobs_.PartialSize(action.digest)});
  }
  void Do(ReleaseBlob& action) { blobs_.Unpin(action.digest); }
  void Do(WriteBlob& action) {
    const StatusOr<bool> complete = blobs_.Append(action.digest, action.offset, action.data, action.size);
    events_.push_back(
        BlobWritten{action.digest, complete.status(), complete.ok() && *complete, blobs_.PartialSize(action.digest)});
  }
  void Do(SpoolResult& action) {
    const Status status = spool_.Store(action.result);
    if (!status.ok()) options_.log(status.message());
  }
  void Do(DeleteSpooled& action) { spool_.Delete(action.key); }

  // ---- Runners.

  void Do(StartRunner& action) {
    const Status status = Start(action.runner, action.spec);
    if (!status.ok()) EndWith(action.runner, status);
  }

  Status Start(RunnerId id, const v1::MeasureSpec& spec) {
    ASSIGN_OR_RETURN(const std::string module, PathOf(spec.module()));
    std::string reference;
    if (spec.has_reference()) {
      ASSIGN_OR_RETURN(reference, PathOf(spec.reference()));
    }
    ASSIGN_OR_RETURN(std::unique_ptr<TrialRunner> runner, factory_.Start(spec, module, reference));
    runners_[id] = std::make_unique<Running>(io_, std::move(runner));
    Watch(id);
    return OkStatus();
  }

  StatusOr<std::string> PathOf(const v1::BlobRef& ref) {
    ASSIGN_OR_RETURN(const Digest digest, Digest::FromBytes(ref.digest()));
    return blobs_.Path(digest);
  }

  void EndWith(RunnerId id, const Status& status) {
    v1::MeasureResult outcome;
    outcome.set_status(v1::MEASURE_STATUS_INFRA_FAILED);
    outcome.set_message(status.message());
    events_.push_back(RunnerEnded{id, std::move(outcome)});
  }

  void Watch(RunnerId id) {
    runners_.at(id)->watch.async_wait(asio::posix::stream_descriptor::wait_read,
                                      [this, id](boost::system::error_code error) {
                                        if (error || !runners_.contains(id)) return;
                                        if (Poll(id)) Watch(id);
                                      });
  }

  void ReadBoard() {
    if (!session_.is_quiet()) session_.SetBoard(sensors_.Read());
  }

  // False once the runner has ended.
  bool Poll(RunnerId id) {
    for (RunnerNotice& notice : runners_.at(id)->runner->Poll()) {
      switch (notice.kind) {
        case RunnerNotice::Kind::kReady:
          ReadBoard();
          Handle(RunnerIsReady{id});
          break;
        case RunnerNotice::Kind::kTimingBegins:
          Handle(RunnerIsTiming{id, true});
          break;
        case RunnerNotice::Kind::kTimingEnds:
          Handle(RunnerIsTiming{id, false});
          break;
        case RunnerNotice::Kind::kTicked:
          Handle(RunnerTicked{id});
          break;
        case RunnerNotice::Kind::kEnded:
          (void)runners_.at(id)->watch.release();
          runners_.erase(id);
          ReadBoard();
          Handle(RunnerEnded{id, std::move(notice.outcome)});
          return false;
      }
    }
    return true;
  }

  void Do(GoRunner& action) {
    const auto it = runners_.find(action.runner);
    if (it == runners_.end()) return;
    it->second->runner->Go();
    events_.push_back(RunnerWent{action.runner});
  }
  void Do(KillRunner& action) {
    if (const auto it = runners_.find(action.runner); it != runners_.end()) it->second->runner->Kill();
  }

  asio::io_context io_{1};
  const DeviceServerOptions options_;
  TrialRunnerFactory& factory_;
  BlobStore blobs_;
  ResultSpool spool_;
  const int lock_;
  const BoardSensors sensors_;
  DeviceSession session_;
  MachineIdentity identity_;  // Of the link, where it is encrypted.
  std::unique_ptr<DeviceLink> link_;
  std::map<RunnerId, std::unique_ptr<Running>> runners_;
  asio::steady_timer wake_, redial_;
  std::optional<TimePoint> alarm_;
  std::deque<DeviceEvent> events_;
  bool is_stepping_ = false;
  std::string said_lost_;  // Why there is no link, as the log has it.
};

StatusOr<std::unique_ptr<DeviceServer>> DeviceServer::Create(DeviceServerOptions options, TrialRunnerFactory& runners) {
  RETURN_IF_ERROR(CheckDeviceName("device name", options.facts.name()));
  RETURN_IF_ERROR(CheckDeviceName("device key", options.facts.key()));
  ASSIGN_OR_RETURN(BlobStore blobs, BlobStore::Open(options.data_directory + "/blobs", options.blob_limit_bytes));
  ASSIGN_OR_RETURN(const int lock, LockFolder(options.data_directory));
  StatusOr<ResultSpool> spool = ResultSpool::Open(options.data_directory + "/spool");
  if (!spool.ok()) {
    close(lock);
    return spool.status();
  }
  return std::unique_ptr<DeviceServer>(
      new DeviceServer(std::make_unique<Impl>(std::move(options), runners, std::move(blobs), *std::move(spool), lock)));
}

DeviceServer::DeviceServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeviceServer::~DeviceServer() = default;
void DeviceServer::Run() { impl_->Run(); }
void DeviceServer::Stop() { impl_->Stop(); }

}  // namespace lathe
