// A farm whose parts know each other by certificates and tokens, as on several machines: everything goes over TCP and
// TLS, and nobody comes in without having joined.
#include "tests/e2e/program_run.h"
#include "tests/e2e/tune_process.h"

namespace lathe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class JoinedFarmTest : public TuneTest {
 protected:
  JoinedFarmTest() { setenv("XDG_DATA_HOME", (folder / "data").c_str(), 1); }

  void SetUp() override {
    const ProgramRun made = RunProgram({"lathe", "ca", "init", "--db", database});
    ASSERT_EQ(made.code, 0) << made.err;
    server =
        std::make_unique<ChildProcess>(std::vector<std::string>{"lathe", "up", "--json", "--db", database, "--listen",
                                                                "127.0.0.1:0", "--device-listen", "127.0.0.1:0"},
                                       folder / "server.log");
    const nlohmann::json said = nlohmann::json::parse(server->ReadLine(), nullptr, false);
    ASSERT_TRUE(said.is_object()) << TextOf(folder / "server.log");
    clients_ = said["server"];
    devices_ = said["devices"];
  }

  std::string Invite(const std::string& role, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"lathe", "invite", role, "--db", database};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramRun invited = RunProgram(arguments);
    EXPECT_EQ(invited.code, 0) << invited.err;
    return invited.out.substr(0, invited.out.find('\n'));
  }
  ProgramRun JoinAsDevice(const std::string& code, const std::string& name) {
    return RunProgram({"lathe-device", "join", devices_, code, "--name", name, "--data", folder / name});
  }
  std::unique_ptr<ChildProcess> StartBoard(const std::string& name) {
    return std::make_unique<ChildProcess>(  // It knows its name by what it has joined as.
        std::vector<std::string>{"lathe-device", "--key", "host", "--cpus", "0", "--data", folder / name},
        folder / (name + ".log"));
  }
  // A file with what `lathe token create` prints.
  std::string TokenOf(const std::string& user, const std::string& role) {
    const ProgramRun made = RunProgram({"lathe", "token", "create", "--user", user, "--role", role, "--db", database});
    EXPECT_EQ(made.code, 0) << made.err;
    const std::string path = folder / (user + ".token");
    const mode_t mask = umask(077);
    std::ofstream(path) << made.out;
    umask(mask);
    return path;
  }
  void Revoke(const std::string& name) {
    const ProgramRun listed = RunProgram({"lathe", "certificate", "list", "--json", "--db", database});
    const nlohmann::json certificates = nlohmann::json::parse(listed.out, nullptr, false);
    std::string serial;
    for (const auto& each : certificates["certificates"])
      if (each["name"] == name) serial = each["serial"];
    ASSERT_EQ(RunProgram({"lathe", "certificate", "revoke", serial, "--db", database}).code, 0) << listed.out;
  }
  std::vector<std::string> As(const std::string& token) const {
    return {"--server", clients_, "--token-file", token, "--device", "host"};
  }

  std::string clients_, devices_;
};

TEST_F(JoinedFarmTest, TunesOnAMachineThatHasJoined) {
  const ProgramRun board = JoinAsDevice(Invite("device"), "board-1");
  ASSERT_EQ(board.code, 0) << board.err;
  EXPECT_THAT(board.out, HasSubstr("device \"board-1\" has joined the farm at " + devices_));
  const ProgramRun builder = RunProgram({"lathe", "worker", "join", devices_, Invite("worker"), "--name", "builder"});
  ASSERT_EQ(builder.code, 0) << builder.err;
  const auto device = StartBoard("board-1");
  const ChildProcess worker({"lathe", "worker", "--connect", clients_, "--name", "builder", "--slots", "1"},
                            folder / "builder.log");
  const std::string ann = TokenOf("ann", "submitter"), file = File("matmul", 32);
  Until([&] {
    return RunProgram({"lathe", "devices", "--server", clients_, "--token-file", ann}).out.find("board-1") !=
           std::string::npos;
  });
  const Ended tuned = RunTune(file, 4, As(ann));
  EXPECT_EQ(tuned.code, 0) << tuned.words;
  EXPECT_EQ(tuned.json["trials_measured"], 4);

  // A worker that was revoked and joins anew goes on by itself.
  Revoke("builder");
  Until([&] { return TextOf(folder / "builder.log").find("is revoked") != std::string::npos; });
  ASSERT_EQ(RunProgram({"lathe", "worker", "join", devices_, Invite("worker"), "--name", "builder"}).code, 0);
  EXPECT_EQ(RunTune(File("other", 40), 2, As(ann)).code, 0);

  // Revoked, the board is heard no more, and does not come back with what it has.
  Revoke("board-1");
  Until([&] { return TextOf(folder / "server.log").find("\"board-1\": revoked") != std::string::npos; });
  Until([&] { return TextOf(folder / "board-1.log").find("revoked; ask for an invitation") != std::string::npos; });
}

// Else the machines would be shut out, and everybody else let in.
TEST_F(JoinedFarmTest, DoesNotStartWithoutItsAuthority) {
  ASSERT_EQ(JoinAsDevice(Invite("device"), "board-1").code, 0);
  EXPECT_EQ(server->End(SIGTERM), 0);
  std::filesystem::rename(database + ".ca", database + ".elsewhere");
  const ProgramRun up =
      RunProgram({"lathe", "up", "--db", database, "--listen", "127.0.0.1:0", "--device-listen", "127.0.0.1:0"});
  EXPECT_EQ(up.code, 1);
  EXPECT_THAT(up.err, HasSubstr("restore that folder from a backup"));
}

TEST_F(JoinedFarmTest, SaysToEverybodyElseWhyNot) {
  const std::string code = Invite("device", {"--name", "board-1"}), file = File("matmul", 32);
  const std::string ann = TokenOf("ann", "viewer");
  EXPECT_THAT(JoinAsDevice(code, "board-2").err, HasSubstr("board-1"));
  ASSERT_EQ(JoinAsDevice(code, "board-1").code, 0);
  const ProgramRun again = JoinAsDevice(code, "board-1");
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("taken"));
  const ChildProcess stranger(
      {"lathe-device", "--connect", devices_, "--name", "stranger", "--cpus", "0", "--data", folder / "stranger"},
      folder / "stranger.log");
  Until([&] {
    return TextOf(folder / "stranger.log").find("closed by the other side; trying again") != std::string::npos;
  });
  EXPECT_THAT(RunTune(file, 4, As(ann)).words, AllOf(HasSubstr("\"viewer\" may not"), HasSubstr("lathe token create")));
  const ProgramRun nobody = RunProgram({"lathe", "devices", "--server", clients_});
  EXPECT_EQ(nobody.code, 4);
  EXPECT_THAT(nobody.err, HasSubstr("a farm with an authority wants --token-file"));
}

TEST_F(E2eTest, BeyondThisMachineNothingIsOpen) {
  const ProgramRun up = RunProgram({"lathe", "up", "--db", folder / "open.db", "--listen", "0.0.0.0:0"});
  EXPECT_EQ(up.code, 2);
  EXPECT_THAT(up.err, HasSubstr("make an authority on the server (lathe ca init)"));
  const ProgramRun devices = RunProgram({"lathe", "devices", "--server", "farm.example:7431"});
  EXPECT_EQ(devices.code, 5);
  EXPECT_THAT(devices.err, HasSubstr("wants to know who asks"));
  const ProgramRun worker = RunProgram({"lathe", "worker", "--connect", "farm.example:7431", "--name", "stranger"});
  EXPECT_EQ(worker.code, 5);
  EXPECT_THAT(worker.err, HasSubstr("lathe worker join HOST:PORT CODE --name stranger"));
  const ProgramRun device = RunProgram(
      {"lathe-device", "--connect", "farm.example:7432", "--name", "stranger", "--data", folder / "stranger"});
  EXPECT_EQ(device.code, 1);
  EXPECT_THAT(device.err, HasSubstr("lathe-device join HOST:PORT CODE --name stranger"));
}

}  // namespace
}  // namespace lathe
