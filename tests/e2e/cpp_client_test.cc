// examples/cpp as somebody else builds it, against an install tree, and a real server with a device of its own.
#include <gmock/gmock.h>

#include "runtime/cpu_features.h"
#include "tests/e2e/install_tree.h"
#include "tests/e2e/tune_process.h"

namespace lathe {
namespace {

class CppClientTest : public TuneTest {
 protected:
  ProgramRun Cmake(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), LATHE_CMAKE);
    return RunProgram(std::move(arguments));
  }
  std::string build = folder / "build";
};

TEST_F(CppClientTest, TunesAndAsksForTheBest) {
  const ProgramRun configured = Cmake(
      {"-S", LATHE_SOURCE_DIR "/examples/cpp", "-B", build, "-G", "Ninja", "-DCMAKE_PREFIX_PATH=" + InstallTree()});
  ASSERT_EQ(configured.code, 0) << configured.err;
  const ProgramRun built = Cmake({"--build", build});
  ASSERT_EQ(built.code, 0) << built.out << built.err;
  // Over TLS, as to a farm on another machine.
  ASSERT_EQ(RunProgram({"lathe", "ca", "init", "--db", database}).code, 0);
  server = std::make_unique<ChildProcess>(
      std::vector<std::string>{"lathe", "up", "--json", "--db", database, "--listen", "127.0.0.1:0", "--device-listen",
                               device_address, "--local-device", "--cpus", std::to_string(AvailableCpus().front())},
      folder / "server.log");
  const std::string there = nlohmann::json::parse(server->ReadLine(), nullptr, false)["server"];
  const ProgramRun token =
      RunProgram({"lathe", "token", "create", "--user", "ann", "--role", "submitter", "--db", database});
  setenv("LATHE_TOKEN", token.out.c_str(), 1);
  const std::string file = File("matmul", 32), program = build + "/tune";
  const ProgramRun tuned = RunProgram({program, there, "local", file, "4"});
  EXPECT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.out, testing::ContainsRegex("[0-9] trials\n(.|\n)*HIT [1-9][0-9.e+]* ns\n$"));
  const ProgramRun refused = RunProgram({program, there, "nobody", file, "4"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, testing::HasSubstr("submit job at 127.0.0.1:"));
  EXPECT_THAT(refused.err, testing::HasSubstr("\"nobody\""));
  unsetenv("LATHE_TOKEN");
}

}  // namespace
}  // namespace lathe
