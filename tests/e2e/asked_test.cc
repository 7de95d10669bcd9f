// From a build that misses to one that hits: a server is told, one command makes a job of it, the next build has it.
#include <onnx/onnx_pb.h>

#include "runtime/cpu_features.h"
#include "tests/e2e/small_model.h"
#include "tests/e2e/tune_process.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::Not;

class AskedTest : public TuneTest {
 protected:
  std::string Model(const std::string& name, bool is_short = false) {
    const std::string path = folder / name;
    std::ofstream(path, std::ios::binary) << SmallModel(is_short).SerializeAsString();
    return path;
  }
  Ended Compile(const std::string& model, std::vector<std::string> more) {
    more.insert(more.begin(), {"compile", model, "-o", folder / "net.so", "--target", "auto -num-cores=1", "--json"});
    return Run(more);
  }
  nlohmann::json Asked(const std::vector<std::string>& place) {
    std::vector<std::string> command = {"asked", "--json"};
    command.insert(command.end(), place.begin(), place.end());
    return Run(command).json["asked"];
  }
};

TEST_F(AskedTest, AMissBecomesAJobAndTheNextBuildHits) {
  const std::string cpu = std::to_string(AvailableCpus().front());
  StartServer({"--local-device", "--cpus", cpu});
  const std::vector<std::string> there = {"--server", address.ToString()};
  const std::string model = Model("small.onnx");
  for (int build = 0; build < 2; ++build) {
    const Ended missed = Compile(model, there);
    EXPECT_EQ(missed.code, 0) << missed.words;
    EXPECT_THAT(missed.words, HasSubstr("2 MISS: not tuned"));
  }
  const nlohmann::json asked = Asked(there);
  ASSERT_EQ(asked.size(), 2u) << asked.dump();
  EXPECT_EQ(asked[0]["times"], 2);
  EXPECT_EQ(asked[0]["network"], "small.onnx");

  std::vector<std::string> command = {"asked", "--tune", "--trials-per-task", "2", "--json"};
  command.insert(command.end(), there.begin(), there.end());
  const Ended tuned = Run(command);
  ASSERT_EQ(tuned.code, 0) << tuned.words;
  EXPECT_EQ(tuned.json["tasks"], 2);
  EXPECT_EQ(WatchToItsEnd(tuned.json["job"].get<int64_t>()).state(), v1::JOB_STATE_DONE);

  const Ended hit = Compile(model, {"--server", address.ToString(), "--fail-on-miss"});
  EXPECT_EQ(hit.code, 0) << hit.words;
  for (const nlohmann::json& kernel : hit.json["kernels"]) EXPECT_EQ(kernel["schedule"], "HIT");
  EXPECT_TRUE(Asked(there).empty());
}

TEST_F(AskedTest, ADatabaseIsToldByItsOwnerOrWithoutOne) {
  const std::vector<std::string> there = {"--db", database};
  StartServer();
  EXPECT_THAT(Compile(Model("short.onnx", /*is_short=*/true), there).words, Not(HasSubstr("not recorded")));
  EXPECT_EQ(Asked(there).size(), 1u);
  server->Signal(SIGTERM);
  server->Wait();
  EXPECT_THAT(Compile(Model("small.onnx"), there).words, Not(HasSubstr("not recorded")));
  EXPECT_EQ(Asked(there).size(), 2u);
}

}  // namespace
}  // namespace lathe
