// What a user, a disk or a stranger on the wire can do wrong: one clear error each, and whoever serves goes on serving.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fstream>

#include "rpc/frame.h"
#include "support/file.h"
#include "support/sqlite.h"
#include "tests/e2e/farm_processes.h"

namespace lathe {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

struct Ended {
  int code = 0;
  std::string out, words;
};

class BadInputTest : public FarmTest {
 protected:
  Ended Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "lathe");
    std::filesystem::remove(folder / "run.log");
    ChildProcess child(arguments, folder / "run.log");
    Ended ended;
    ended.out = child.ReadAll();
    ended.code = child.Wait();
    ended.words = TextOf(folder / "run.log");
    return ended;
  }
  std::string File() {
    const std::string path = folder / "matmul.py";
    std::ofstream(path) << MatmulText("matmul", 40);
    return path;
  }
  static int Dial(const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0)
        << path << ": " << std::strerror(errno);
    return fd;
  }
  // Sends the bytes, hangs up at once or when the other side does, and forgets about it.
  static void Babble(const std::string& path, const std::string& bytes, bool waits) {
    const int fd = Dial(path);
    (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    pollfd closed{.fd = fd, .events = POLLIN, .revents = 0};
    char ignored[4096];
    if (waits)
      while (poll(&closed, 1, 300) > 0 && recv(fd, ignored, sizeof(ignored), 0) > 0) {
      }
    close(fd);
  }
  bool ServerAnswers() { return connection->tuning().ListJobs({}).ok(); }
};

TEST_F(BadInputTest, PlacesThatAreTaken) {
  StartServer();
  const std::string other = folder / "other.db", free = "unix:" + (folder / "free.sock");
  const Ended listen = Run({"up", "--db", other, "--listen", address.ToString(), "--device-listen", free});
  EXPECT_EQ(listen.code, 4);
  EXPECT_THAT(listen.words,
              AllOf(HasSubstr("listen on " + address.ToString()), HasSubstr("choose another with --listen")));
  const Ended devices = Run({"up", "--db", other, "--listen", free, "--device-listen", device_address});
  EXPECT_EQ(devices.code, 4);
  EXPECT_THAT(devices.words,
              HasSubstr("listen on " + device_address +
                        ": another process listens there; stop the other server or choose another path"));
  const Ended same =
      Run({"up", "--db", database, "--listen", free, "--device-listen", "unix:" + (folder / "free2.sock")});
  EXPECT_EQ(same.code, 4);
  EXPECT_THAT(same.words,
              HasSubstr(fmt::format("process {} owns the file; use its server, or wait until it ends", server->pid())));

  const int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in any{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof(any);
  ASSERT_EQ(bind(tcp, reinterpret_cast<sockaddr*>(&any), size) | ::listen(tcp, 1) |
                getsockname(tcp, reinterpret_cast<sockaddr*>(&any), &size),
            0);
  const std::string taken = fmt::format("127.0.0.1:{}", ntohs(any.sin_port));
  EXPECT_THAT(Run({"up", "--db", other, "--listen", taken, "--device-listen", free}).words,
              HasSubstr("listen on " + taken + ": the address is in use"));
  EXPECT_THAT(Run({"up", "--db", other, "--listen", free, "--device-listen", taken}).words,
              HasSubstr("listen on " + taken + ": Address already in use"));
  close(tcp);
  EXPECT_TRUE(ServerAnswers());
}

TEST_F(BadInputTest, WhoShowsNothingToAFarmWithAnAuthority) {
  ASSERT_EQ(Run({"ca", "init", "--db", database}).code, 0);
  server =
      std::make_unique<ChildProcess>(std::vector<std::string>{"lathe", "up", "--json", "--db", database, "--listen",
                                                              "127.0.0.1:0", "--device-listen", device_address},
                                     folder / "server.log");
  const std::string line = server->ReadLine(), begin = R"("server":")";
  const size_t at = line.find(begin) + begin.size();
  const std::string there = line.substr(at, line.find('"', at) - at);
  const Ended stranger = Run({"jobs", "--server", there});
  EXPECT_EQ(stranger.code, 4) << there;
  EXPECT_THAT(stranger.words, HasSubstr("a farm with an authority wants --token-file"));
  const Ended token = Run({"token", "create", "--user", "vera", "--role", "viewer", "--db", database});
  EXPECT_EQ(token.code, 0) << token.words;
  const std::string file = folder / "token";
  ASSERT_TRUE(WriteSecretFile(file, token.out).ok());
  EXPECT_EQ(Run({"jobs", "--server", there, "--token-file", file}).code, 0);
  const Ended viewer = Run({"tune", File(), "--server", there, "--device", "host", "--token-file", file});
  EXPECT_EQ(viewer.code, 5);
  EXPECT_THAT(viewer.words, HasSubstr("\"vera\": TuningService/SubmitJob: the role \"viewer\" may not, submitter or"));
  EXPECT_EQ(Run({"token", "revoke", "1", "--db", database}).code, 0);
  EXPECT_THAT(Run({"jobs", "--server", there, "--token-file", file}).words, HasSubstr("token of \"vera\" is revoked"));
}

TEST_F(BadInputTest, ANewerDatabaseAndUnknownTargets) {
  {
    ASSERT_TRUE(SqliteStore::Open(database).ok());  // Made, and closed again.
    const auto db = *sqlite::Connection::Open(database, sqlite::Connection::Mode::kReadWrite);
    ASSERT_TRUE(db->Execute("PRAGMA user_version = 99").ok());
  }
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"tune", File(), "--db", database, "--trials", "2"},
        {"best", "--db", database},
        {"jobs", "--db", database},
        {"up", "--db", database, "--listen", address.ToString(), "--device-listen", device_address}}) {
    const Ended ended = Run(verb);
    EXPECT_EQ(ended.code, 1) << verb[0];
    EXPECT_THAT(ended.words, HasSubstr(fmt::format("open {}: schema version 99, this build reads up to ", database)))
        << verb[0];
  }
  const Ended target = Run({"tune", File(), "--db", folder / "other.db", "--target", "llvm -mcpu=warp9"});
  EXPECT_EQ(target.code, 2);
  EXPECT_THAT(target.words, HasSubstr("warp9"));
  EXPECT_EQ(std::count(target.words.begin(), target.words.end(), '\n'), 1) << target.words;
}

TEST_F(BadInputTest, AJobWithoutADeviceSaysWhatItWaitsFor) {
  StartServer();
  StartWorkersAndDevices();
  const v1::Job ready = Submit(Request("ready", MatmulText("matmul", 40), 2));
  const Ended unknown = Run({"tune", File(), "--server", address.ToString(), "--device", "pi4"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.words, AllOf(HasSubstr("for device key \"pi4\": no such device key; known keys: \"host\""),
                                   HasSubstr("connect such a device")));
  const Ended target =
      Run({"tune", File(), "--server", address.ToString(), "--device", "host", "--target", "llvm -mcpu=warp9"});
  EXPECT_EQ(target.code, 2);

  v1::SubmitJobRequest request = Request("waits", MatmulText("matmul", 40), 2, "pi4");
  request.set_target(ready.tasks(0).key().target());
  const auto job = connection->tuning().SubmitJob(request);
  ASSERT_TRUE(job.ok()) << job.status().message();
  std::string detail;
  v1::GetJobRequest look;
  look.set_job_id(job->job().id());
  Until([&] {
    detail = connection->tuning().GetJob(look)->job().detail();
    return !detail.empty();
  });
  EXPECT_THAT(detail, AllOf(HasSubstr("waits: needs device key \"pi4\"; known keys: \"host\"")));
  devices[0].reset();
  devices[0] = StartDevice(0, "pi4");
  EXPECT_EQ(WatchToItsEnd(job->job().id()).state(), v1::JOB_STATE_DONE);
}

TEST_F(BadInputTest, StrangersOnThePorts) {
  Random random(Seed());
  StartServer();
  StartWorkersAndDevices();
  const int64_t job = Submit(Request("goes on", MatmulText("matmul", 40), 10)).id();
  const std::string device_socket = folder / "devices.sock", service_socket = folder / "server.sock";
  std::vector<std::string> sayings{
      "", "GET / HTTP/1.1\r\n\r\n",
      std::string("\xff\xff\xff\xff\x01\x00\x00\x00\x00\x00\x00\x00", 12),  // 4 GiB of Hello.
      std::string("\x00\x00\x20\x00\x01\x00\x00\x00\x00\x00\x00\x00", 12),
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(64, '\xff')};
  std::string hello;
  ASSERT_TRUE(AppendFrame(FrameType::kHello, 0, "\x0a\xff\xff\xff\xff\x0f", hello).ok());
  sayings.push_back(hello);
  for (int i = 0; i < 24; ++i) {
    std::string bytes(random.Below(300), '\0');
    for (char& c : bytes) c = static_cast<char>(random.Below(256));
    if (i % 3 == 0) bytes = hello.substr(0, random.Below(hello.size())) + bytes;
    sayings.push_back(bytes);
  }
  for (size_t i = 0; i < sayings.size(); ++i) {
    Babble(device_socket, sayings[i], /*waits=*/i % 8 == 2);
    Babble(service_socket, sayings[i], /*waits=*/i % 8 == 4);
    ASSERT_TRUE(ServerAnswers()) << "after saying " << i;
  }
  EXPECT_EQ(WatchToItsEnd(job).state(), v1::JOB_STATE_DONE);
  EXPECT_EQ(server->End(SIGTERM), 0);
  CheckBooks(database, job, 10);
}

TEST_F(BadInputTest, WorkersAndDevicesEndWhenTheServerIsGone) {
  StartServer();
  StartWorkersAndDevices();
  const int64_t job = Submit(Request("unfinished", MatmulText("matmul", 40), 100'000)).id();
  v1::GetJobRequest look;
  look.set_job_id(job);
  Until([&] { return connection->tuning().GetJob(look)->job().tasks(0).trials_done() >= 3; });  // In the middle of it.
  server->End(SIGKILL);
  for (const auto& member : {&workers, &devices}) {
    for (const auto& process : *member) EXPECT_EQ(process->End(SIGTERM), 0);
  }
}

// The disk is filled by the test, not by the trials. How long those take to fill it is the machine's business
// (measured: 45 s, and more than four minutes beside twenty compilers), and a limit of 60 s on all of it once looked as
// if `tune` hung. Whoever meets its end first says so: the builder, the store of modules, the database, or the device,
// which can only give its trials up (Coordinator.SaysThatADeviceGivesUpOneTrialAfterTheOther).
TEST_F(BadInputTest, AFullDisk) {
  const std::string disk = folder / "disk";
  std::filesystem::create_directories(disk);
  if (mount("lathe-test", disk.c_str(), "tmpfs", 0, "size=16m") != 0)
    GTEST_SKIP() << "mounting a small disk: " << std::strerror(errno);
  struct Unmount {
    std::string path;
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
  } unmount{disk};
  const std::string full = disk + "/lathe.db", file = File();
  const auto records = [&]() -> int64_t {
    const auto store = SqliteStore::OpenReadOnly(full);
    if (!store.ok()) return 0;
    const auto stats = (*store)->Stats();
    return stats.ok() ? stats->records : 0;
  };
  ChildProcess tune({"lathe", "tune", file, "--db", full, "--cpus", "0", "--trials", "100000"}, folder / "run.log");
  Until([&] { return records() >= 2 || tune.HasEnded(); });
  ASSERT_FALSE(tune.HasEnded()) << "before the disk was full: " << TextOf(folder / "run.log");
  for (std::ofstream filler(disk + "/filler", std::ios::binary); filler;)
    filler << std::string(4096, 'x') << std::flush;
  const Ended ended{tune.Wait(), "", TextOf(folder / "run.log")};
  EXPECT_EQ(ended.code, 1) << ended.words;
  EXPECT_THAT(ended.words,
              AllOf(HasSubstr(full), AnyOf(HasSubstr("database or disk is full"), HasSubstr("No space left on device")),
                    HasSubstr("the same command goes on from here")));
  int64_t known = 0;
  {
    const auto store = SqliteStore::OpenReadOnly(full);
    ASSERT_TRUE(store.ok()) << store.status().message();
    const auto stats = (*store)->Stats();
    ASSERT_TRUE(stats.ok()) << stats.status().message();
    known = stats->records;
  }
  ASSERT_EQ(mount("lathe-test", disk.c_str(), "tmpfs", MS_REMOUNT, "size=96m"), 0) << std::strerror(errno);
  const Ended again = Run({"tune", file, "--db", full, "--cpus", "0", "--trials", std::to_string(known + 3)});
  EXPECT_EQ(again.code, 0) << again.words;
}

}  // namespace
}  // namespace lathe
