#include "tuner/job/synchronize_check.h"

#include <gmock/gmock.h>

#include "tuner/worker/worker_channel.h"

namespace lathe {
namespace {

using testing::HasSubstr;

v1::SynchronizeRequest Request() {
  v1::SynchronizeRequest request;
  request.mutable_worker()->set_name("host-w1");
  request.mutable_worker()->set_slots(2);
  request.add_known_workloads(std::string(32, 'w'));
  v1::BuildState& built = *request.add_tasks();
  built.mutable_artifact()->set_digest(std::string(32, 'd'));
  built.mutable_artifact()->set_size(1);
  request.add_tasks()->mutable_failure()->set_message(std::string(kMaxBuildErrorBytes, 'x'));
  return request;
}

TEST(CheckSynchronizeRequest, AcceptsWhatAWorkerSays) { EXPECT_TRUE(CheckSynchronizeRequest(Request()).ok()); }

struct BadRequestCase {
  const char* name;
  void (*spoil)(v1::SynchronizeRequest&);
  const char* message;
};
class BadRequestTest : public testing::TestWithParam<BadRequestCase> {};
TEST_P(BadRequestTest, NamesTheFieldAndItsLimit) {
  v1::SynchronizeRequest request = Request();
  GetParam().spoil(request);
  const Status status = CheckSynchronizeRequest(request);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr(GetParam().message));
}
using R = v1::SynchronizeRequest;
INSTANTIATE_TEST_SUITE_P(
    Fields, BadRequestTest,
    testing::Values(
        BadRequestCase{"LongName", [](R& r) { r.mutable_worker()->set_name(std::string(65, 'a')); },
                       "1 to 64 characters of a-z 0-9 . _ - required"},
        BadRequestCase{"ManySlots", [](R& r) { r.mutable_worker()->set_slots(1025); },
                       "synchronize worker \"host-w1\": slots: 1025, 0 to 1024 required"},
        BadRequestCase{"NegativeSlots", [](R& r) { r.mutable_worker()->set_slots(-1); }, "slots: -1, 0 to 1024"},
        BadRequestCase{"ManyTasks",
                       [](R& r) {
                         while (r.tasks_size() < 4097) r.add_tasks();
                       },
                       "tasks: 4097, 0 to 4096 required"},
        BadRequestCase{"ManyWorkloads",
                       [](R& r) {
                         while (r.known_workloads_size() < 1025) r.add_known_workloads(std::string(32, 'w'));
                       },
                       "known_workloads: 1025, 0 to 1024 required"},
        BadRequestCase{"ShortWorkload", [](R& r) { r.add_known_workloads("w"); },
                       "known_workloads: a digest of 1 bytes, 32 required"},
        BadRequestCase{"ShortArtifact",
                       [](R& r) {
                         r.mutable_tasks(0)->set_trial_id(9);
                         r.mutable_tasks(0)->mutable_artifact()->set_digest("d");
                       },
                       "trial 9: artifact: a digest of 1 bytes, 32 required"},
        BadRequestCase{"EmptyArtifact", [](R& r) { r.mutable_tasks(0)->mutable_artifact()->set_size(0); },
                       "artifact: size 0 bytes, 1 to"},
        BadRequestCase{"LongWords",
                       [](R& r) { r.mutable_tasks(1)->mutable_failure()->mutable_message()->push_back('x'); },
                       "failure: a message of 65537 bytes, at most 65536 are accepted"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
