#include "support/credential.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "support/random.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::Not;

InvitationCode SomeCode() {
  InvitationCode code;
  for (size_t i = 0; i < code.secret.size(); ++i) code.secret[i] = static_cast<uint8_t>(i * 17);
  code.authority = Sha256("authority");
  return code;
}

AccessToken SomeToken() {
  AccessToken token;
  for (size_t i = 0; i < token.secret.size(); ++i) token.secret[i] = static_cast<uint8_t>(255 - i);
  return token;
}

TEST(InvitationCode, IsReadAsItWasPrintedHoweverItIsCopied) {
  const std::string text = FormatInvitationCode(SomeCode());
  EXPECT_EQ(text.size(), 84u + 13);
  EXPECT_EQ(*ParseInvitationCode(text), SomeCode());
  std::string shouted = text;
  std::transform(text.begin(), text.end(), shouted.begin(), [](unsigned char c) { return std::toupper(c); });
  std::replace(shouted.begin(), shouted.end(), '-', ' ');
  std::replace(shouted.begin(), shouted.end(), '0', 'O');
  std::replace(shouted.begin(), shouted.end(), '1', 'l');
  EXPECT_EQ(*ParseInvitationCode(shouted + "\n"), SomeCode());
  EXPECT_EQ(SomeCode().SecretDigest(),
            Sha256({reinterpret_cast<const char*>(SomeCode().secret.data()), SomeCode().secret.size()}));
}

TEST(InvitationCode, TellsASlipOfTheHand) {
  const std::string text = FormatInvitationCode(SomeCode());
  const auto refusal = [](const std::string& code) { return ParseInvitationCode(code).status().message(); };
  EXPECT_THAT(refusal(""), HasSubstr("read invitation code: 0 letters and digits, 84 required; copy it again"));
  EXPECT_THAT(refusal(text.substr(1)), HasSubstr("83 letters and digits, 84 required"));
  EXPECT_THAT(refusal(text + "z"), HasSubstr("85 letters and digits, 84 required"));
  EXPECT_THAT(refusal("u" + text.substr(1)), HasSubstr("it has characters that none has; copy it again"));
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '-') continue;
    std::string changed = text;
    changed[at] = changed[at] == 'z' ? 'y' : 'z';
    EXPECT_THAT(refusal(changed), HasSubstr("a letter is mistyped; copy it again")) << at;
    EXPECT_THAT(refusal(changed), Not(HasSubstr(changed.substr(0, 6)))) << "a code is a secret";
  }
}

TEST(Token, IsReadAsItWasPrinted) {
  const std::string text = FormatToken(SomeToken());
  EXPECT_EQ(text.size(), 6u + 58);
  EXPECT_EQ(*ParseToken(text), SomeToken());
  EXPECT_EQ(*ParseToken(text + "\n"), SomeToken());
  const auto refusal = [](const std::string& token) { return ParseToken(token).status().message(); };
  EXPECT_THAT(refusal("secret"),
              HasSubstr("it does not begin with \"lathe_\"; copy all that `lathe token create` printed"));
  EXPECT_THAT(refusal(text.substr(0, 20)), HasSubstr("14 letters and digits, 58 required"));
  std::string changed = text;
  std::swap(changed[10], changed[40]);
  EXPECT_THAT(refusal(changed), HasSubstr("a letter is mistyped"));
  EXPECT_THAT(refusal(changed), Not(HasSubstr(changed.substr(6, 6)))) << "a token is a secret";
}

TEST(Token, OfAnyBytesIsReadBack) {
  const SeedRange seeds = SeedsToTry(200);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    SCOPED_TRACE("LATHE_SEED=" + std::to_string(seed));
    Random random(seed);
    AccessToken token;
    InvitationCode code;
    for (uint8_t& byte : token.secret) byte = static_cast<uint8_t>(random.Next());
    for (uint8_t& byte : code.secret) byte = static_cast<uint8_t>(random.Next());
    code.authority = Sha256(FormatToken(token));
    EXPECT_EQ(*ParseToken(FormatToken(token)), token);
    EXPECT_EQ(*ParseInvitationCode(FormatInvitationCode(code)), code);
  }
}

TEST(DrawSecret, FillsWithOtherBytesEachTime) {
  EXPECT_NE(DrawSecret<32>(), DrawSecret<32>());
  EXPECT_NE(DrawSecret<16>(), (std::array<uint8_t, 16>{}));
}

}  // namespace
}  // namespace lathe
