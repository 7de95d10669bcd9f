#include "tuner/measure/reference.h"

#include <gmock/gmock.h>

#include "compiler/script/parser.h"
#include "tests/support/temporary_folder.h"

namespace lathe {
namespace {

using testing::HasSubstr;

constexpr char kCopy[] = R"(
@T.prim_func
def copy(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
)";

class NoBlobs : public ReferenceBlobs {
 public:
  StatusOr<Digest> PutBlob(std::string_view) override { return InternalError("nothing was computed"); }
  bool HasBlob(const Digest&, int64_t) override { return false; }
};

class FailingBuilder : public Builder {
 public:
  FailingBuilder(BuildFailed failed, int& builds) : failed_(std::move(failed)), builds_(builds) {}
  BuildOutcome Build(const BuildRequest&) override {
    ++builds_;
    return failed_;
  }
  void Cancel() override {}
  void SetPaused(bool) override {}

 private:
  const BuildFailed failed_;
  int& builds_;
};

struct BuilderCase {
  const char* name;
  BuildFailed failed;
  StatusCode code;
  int builds;
};
class ReferenceTest : public testing::TestWithParam<BuilderCase> {};

TEST_P(ReferenceTest, SaysWhetherTheFunctionIsAtFault) {
  const TemporaryFolder folder;
  NoBlobs blobs;
  int builds = 0;
  ReferenceOptions options{.directory = folder / "references"};
  options.builders = [&]() -> StatusOr<std::unique_ptr<Builder>> {
    return std::unique_ptr<Builder>(std::make_unique<FailingBuilder>(GetParam().failed, builds));
  };
  ReferenceMaker maker(options, blobs);
  const PrimFunc copy = *ParsePrimFunc(kCopy, "test.py");
  const Status status = maker.Make(Sha256("copy"), copy, 1).status();
  EXPECT_EQ(status.code(), GetParam().code);
  EXPECT_EQ(status.message(), "build the float64 reference of copy: " + GetParam().failed.message);
  EXPECT_EQ(builds, GetParam().builds);
}

INSTANTIATE_TEST_SUITE_P(
    Builders, ReferenceTest,
    testing::Values(
        BuilderCase{"FullDisk",
                    {BuildFailed::Kind::kBroken, "write 1.so: No space left on device", StatusCode::kResourceExhausted},
                    StatusCode::kResourceExhausted,
                    3},
        BuilderCase{"Killed", {BuildFailed::Kind::kBroken, "died with SIGKILL"}, StatusCode::kUnavailable, 3},
        BuilderCase{"Refused",  // Scheduled, then as it is.
                    {BuildFailed::Kind::kCandidate, "unknown intrinsic"},
                    StatusCode::kFailedPrecondition,
                    2}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
