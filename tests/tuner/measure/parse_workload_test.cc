#include "tuner/measure/parse_workload.h"

#include <gmock/gmock.h>

#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"

namespace lathe {
namespace {

constexpr const char* kTwice = R"(
@T.prim_func
def twice(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = A[i] * T.float32(2)
)";

TEST(ParseWorkload, RefusesATextThatComputesSomethingElseThanItsDigest) {
  const Digest digest = WorkloadDigest(*ParsePrimFunc(kTwice, "twice"));
  const auto parsed = ParseWorkload(digest, "twice", kTwice);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  std::string changed = kTwice;
  changed.replace(changed.find("float32(2)"), 10, "float32(3)");
  EXPECT_EQ(ParseWorkload(digest, "twice", changed).code(), StatusCode::kDataLoss);
  EXPECT_THAT(ParseWorkload(digest, "twice", changed).status().message(),
              testing::HasSubstr("its text computes something else"));
}

}  // namespace
}  // namespace lathe
