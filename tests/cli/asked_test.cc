// lathe asked, against a server that keeps jobs and works on none.
#include "cli/lathe.h"
#include "tests/cli/cli_testing.h"
#include "tests/tuner/service/service_testing.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kPi = "llvm -mcpu=cortex-a72 -mtriple=aarch64-linux-gnu -num-cores=4";
constexpr const char* kOne = "llvm -mcpu=x86-64-v3 -mtriple=x86_64-linux-gnu -num-cores=1";

class AskedVerbTest : public ServiceTest {
 protected:
  VerbRun Asked(std::vector<std::string> more = {}) {
    more.insert(more.begin(), "asked");
    more.insert(more.end(), {"--server", address.ToString()});
    return RunVerb(more);
  }
  void Report(const std::vector<const char*>& texts, const std::string& target = kPi) {
    v1::ReportAskedRequest request;
    for (const char* text : texts) {
      v1::AskedWorkload& asked = *request.add_asked();
      asked.mutable_workload()->set_text(text);
      asked.set_target(target);
      asked.set_network("net.onnx");
      asked.set_weight(3);
    }
    const auto reported = connection->schedules().ReportAsked(request);
    ASSERT_TRUE(reported.ok()) << reported.status().ToString();
    clock.Advance(std::chrono::seconds(1));
  }
};

TEST_F(AskedVerbTest, ListsTheLastFirst) {
  EXPECT_THAT(Asked().err, HasSubstr("no build asked for what is not there"));
  Report({kCopyFunc});
  Report({kCopyFunc, kDoubleFunc});
  Report({kDoubleFunc}, kOne);
  const VerbRun table = Asked();
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, StartsWith("KERNEL"));
  EXPECT_LT(table.out.find("x86-64-v3 x1"), table.out.find("raspberry-pi/4b-aarch64"));
  EXPECT_THAT(table.out, testing::ContainsRegex("copy +[0-9a-f]{12} +2 .* net.onnx +raspberry-pi/4b-aarch64\n"));
  EXPECT_THAT(Asked({"--long"}).out, HasSubstr(kPi));
  EXPECT_THAT(Asked({"--target", "raspberry-pi/4b-aarch64"}).out, testing::Not(HasSubstr("x86-64-v3")));
  EXPECT_THAT(Asked({"--json"}).out, HasSubstr("\"times\": 2"));
}

TEST_F(AskedVerbTest, MakesOneJobOfWhatIsAskedHoweverOftenItIsRepeated) {
  EXPECT_EQ(Asked({"--tune"}).code, 3);
  Report({kCopyFunc, kDoubleFunc});
  const std::vector<std::string> command = {"--tune", "--device", "pi4", "--trials-per-task", "7"};
  const VerbRun first = Asked(command), again = Asked(command);
  EXPECT_EQ(first.out, "job 1: 2 kernels\n") << first.err;
  EXPECT_EQ(again.out, "job 1: 2 kernels, as it was submitted before\n") << again.err;
  const auto tasks = *store->ListTasks(1);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].trial_budget, 7);
  EXPECT_EQ(tasks[0].weight, 3);
  EXPECT_EQ(tasks[0].key.target, kPi);
  EXPECT_EQ(tasks[0].key.device_class, "pi4");
  // Asked for once more, since that job did not make it: a job of its own.
  Report({kCopyFunc});
  EXPECT_THAT(Asked(command).out, StartsWith("job 2: "));
}

TEST_F(AskedVerbTest, ASingleJobIsOfOneTarget) {
  Report({kCopyFunc});
  Report({kDoubleFunc}, kOne);
  const VerbRun both = Asked({"--tune", "--device", "pi4"});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("asked: 2 targets, a job is of one; name it by --target: \"llvm"));
  EXPECT_EQ(Asked({"--tune", "--device", "pi4", "--target", kPi}).code, 0);
}

}  // namespace
}  // namespace lathe
