#include "tuner/service/status_port.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class StatusPortTest : public testing::Test {
 protected:
  StatusPortTest() {
    auto started = StatusPort::Start({.host = "127.0.0.1"}, [](const std::string& path) {
      return path == "/metrics" ? StatusPage{.text = "up 1\n"} : StatusPage{.code = 404, .text = "no such page\n"};
    });
    EXPECT_TRUE(started.ok()) << started.status().message();
    port_ = *std::move(started);
  }
  int Connect() const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{.sin_family = AF_INET,
                        .sin_port = htons(port_->endpoint().port),
                        .sin_addr = {htonl(INADDR_LOOPBACK)},
                        .sin_zero = {}};
    EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }
  std::string Say(const std::string& words) const {
    const int fd = Connect();
    EXPECT_EQ(send(fd, words.data(), words.size(), MSG_NOSIGNAL), static_cast<ssize_t>(words.size()));
    std::string answer;
    char buffer[4096];
    for (ssize_t count; (count = read(fd, buffer, sizeof(buffer))) > 0;)
      answer.append(buffer, static_cast<size_t>(count));
    close(fd);
    return answer;
  }
  std::unique_ptr<StatusPort> port_;
};

TEST_F(StatusPortTest, AnswersOneRequest) {
  const std::string answer = Say("GET /metrics?name=x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\n\r\nup 1\n"));
  EXPECT_THAT(Say("GET / HTTP/1.0\r\n\r\n"), HasSubstr("404 Not Found"));
  const std::string head = Say("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(head, testing::Not(HasSubstr("up 1")));
}

TEST_F(StatusPortTest, RefusesWhatIsNoSuchRequest) {
  EXPECT_THAT(Say("POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), HasSubstr("405 Method Not Allowed"));
  EXPECT_EQ(Say("\x16\x03\x01 nonsense\r\n\r\n"), "") << "it is cut off";
  EXPECT_EQ(Say("GET /metrics HTTP/1.1\r\nX: " + std::string(20000, 'x') + "\r\n\r\n").substr(0, 5), "");
  EXPECT_THAT(Say("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), HasSubstr("200 OK")) << "others are served";
}

TEST_F(StatusPortTest, SilentVisitorsKeepNobodyOutForLong) {
  std::vector<int> silent;
  for (int i = 0; i < 3 * StatusPort::kMostConnections; ++i) silent.push_back(Connect());
  for (const int fd : silent) close(fd);
  std::string answer;  // As soon as it has seen that they are gone.
  for (int i = 0; i < 10'000 && answer.empty(); ++i) answer = Say("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("200 OK"));
}

TEST(StatusPort, ListensOnThisMachineOnly) {
  const auto pages = [](const std::string&) { return StatusPage{}; };
  for (const char* host : {"0.0.0.0", "192.0.2.1", "::"}) {
    const auto started = StatusPort::Start({.host = host, .port = 1}, pages);
    EXPECT_EQ(started.status().code(), StatusCode::kInvalidArgument) << host;
    EXPECT_THAT(started.status().message(), HasSubstr("an address of this machine required")) << host;
  }
  const auto one = StatusPort::Start({.host = "127.0.0.1"}, pages);
  ASSERT_TRUE(one.ok());
  const auto two = StatusPort::Start((*one)->endpoint(), pages);
  EXPECT_EQ(two.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(two.status().message(), HasSubstr("choose another address"));
}

}  // namespace
}  // namespace lathe
