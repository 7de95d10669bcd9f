#include "tuner/service/listener.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <future>

#include "tests/tuner/service/service_testing.h"

namespace lathe {
namespace {

using testing::HasSubstr;

// No further descriptor for this process, until it ends.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = dup(STDERR_FILENO);
    close(next);
    const rlimit none{static_cast<rlim_t>(next), before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class ListenerTest : public ServiceTest {
 protected:
  ~ListenerTest() override { close(client_); }
  void Dial(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(connect(client_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << path;
  }
  const int client_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const std::string path_ = folder / "listener.sock";
  std::promise<std::string> said_;
};

TEST_F(ListenerTest, LetsWhoConnectsWaitWhileThereIsNoDescriptor) {
  std::promise<int> taken;
  const auto listener = *Listener::Open({.unix_path = path_});
  listener->Start([&](int socket) { taken.set_value(socket); }, [&](std::string words) { said_.set_value(words); });
  {
    const NoDescriptors none;
    Dial(path_);
    EXPECT_EQ(said_.get_future().get(), "listen on unix:" + path_ + ": Too many open files; who connects waits");
  }
  const int socket = taken.get_future().get();
  EXPECT_EQ(send(socket, "x", 1, 0), 1);
  char got = 0;
  EXPECT_EQ(recv(client_, &got, 1, 0), 1);
  close(socket);
}

TEST_F(ListenerTest, AServerGoesOnWhereItHadNoDescriptor) {
  const auto server = ServiceServer::Start(
      {.listen = {{.unix_path = path_}}, .log = [&](std::string words) { said_.set_value(words); }}, *api);
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  {
    const NoDescriptors none;
    Dial(path_);
    EXPECT_THAT(said_.get_future().get(), HasSubstr("Too many open files"));
  }
  EXPECT_TRUE(ConnectToServer({.unix_path = path_})->tuning().ListJobs({}).ok());
}

TEST_F(ListenerTest, LeavesNoSocketFile) {
  {
    ASSERT_TRUE(Listener::Open({.unix_path = path_}).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ListenerTest, SaysThatAnAddressCannotBeHad) {
  EXPECT_THAT(Listener::Open({.host = "192.0.2.1", .port = 1}).status().message(),
              HasSubstr("listen on 192.0.2.1:1: the address is in use or not allowed"));
}

}  // namespace
}  // namespace lathe
