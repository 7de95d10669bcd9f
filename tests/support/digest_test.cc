#include "support/digest.h"

#include <gmock/gmock.h>

namespace lathe {
namespace {

using testing::HasSubstr;

TEST(Digest, MatchesThePublishedVectorOfAbc) {  // FIPS 180-2, appendix B.1
  EXPECT_EQ(Sha256("abc").ToHex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, StreamGivesTheSameAsOnePiece) {
  Sha256Stream stream;
  stream.Update("a");
  stream.Update("bc");
  EXPECT_EQ(stream.Finish(), Sha256("abc"));
}

TEST(Digest, ReadsBackItsHexForm) {
  const Digest digest = Sha256("x");
  EXPECT_EQ(*Digest::FromHex(digest.ToHex()), digest);
}

TEST(Digest, RefusesWrongHex) {
  EXPECT_THAT(Digest::FromHex("abc").status().message(), HasSubstr("3 characters, 64 hex digits required"));
  EXPECT_THAT(Digest::FromHex(std::string(64, 'g')).status().message(), HasSubstr("not all hex digits"));
}

}  // namespace
}  // namespace lathe
