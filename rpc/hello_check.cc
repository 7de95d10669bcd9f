#include "rpc/hello_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "rpc/device_message.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr size_t kMaxFactBytes = 256;  // Of a text for people.
constexpr size_t kMaxTagBytes = 64;    // Of a name among many: an architecture, a feature.
constexpr int kMaxTags = 512;
constexpr int kMaxOwnTags = 32;
constexpr int kMaxCpus = 4096;  // Also the highest number of one.
constexpr int kMaxSpooled = 4096;
constexpr int kMaxTrials = 64;
constexpr int kDigestBytes = 32;

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }
bool IsTagCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == '+';
}

Status CheckText(std::string_view field, std::string_view text, size_t limit, bool (*is_legal)(char),
                 std::string_view alphabet) {
  if (text.size() > limit)
    return InvalidArgument(fmt::format("{}: {} bytes, at most {} are accepted; shorten it", field, text.size(), limit));
  const auto bad = std::find_if_not(text.begin(), text.end(), is_legal);
  if (bad == text.end()) return OkStatus();
  return InvalidArgument(fmt::format("{}: byte {:#04x} at {}, {} required; leave it out", field,
                                     static_cast<unsigned char>(*bad), bad - text.begin(), alphabet));
}

Status CheckFact(std::string_view field, std::string_view text) {
  return CheckText(field, text, kMaxFactBytes, IsPrintable, "printable ASCII");
}

Status CheckTag(std::string_view field, std::string_view text) {
  return CheckText(field, text, kMaxTagBytes, IsTagCharacter, "a-z A-Z 0-9 . _ - +");
}

Status CheckCount(std::string_view field, int64_t count, int64_t limit) {
  if (count <= limit) return OkStatus();
  return InvalidArgument(fmt::format("{}: {} entries, at most {} are accepted; list fewer", field, count, limit));
}

template <typename Number>
Status CheckRange(std::string_view field, Number value, Number low, Number high) {
  if (value >= low && value <= high) return OkStatus();  // Not so if it is no number.
  return InvalidArgument(fmt::format("{}: {}, {} to {} required; upgrade the device", field, value, low, high));
}

Status CheckTags(const std::string& field, const google::protobuf::RepeatedPtrField<std::string>& tags) {
  RETURN_IF_ERROR(CheckCount(field, tags.size(), kMaxTags));
  for (int i = 0; i < tags.size(); ++i) RETURN_IF_ERROR(CheckTag(fmt::format("{}[{}]", field, i), tags[i]));
  return OkStatus();
}

bool IsOwnTagCharacter(char c) { return IsTagCharacter(c) || c == '='; }

Status CheckOwnTags(const auto& tags) {
  RETURN_IF_ERROR(CheckCount("tags", static_cast<int64_t>(tags.size()), kMaxOwnTags));
  for (const std::string& tag : tags) {
    RETURN_IF_ERROR(CheckText("tags", tag, kMaxTagBytes, IsOwnTagCharacter, "a-z A-Z 0-9 . _ - + ="));
    const size_t equals = tag.find('=');
    if (tag.empty() || equals == 0 || equals == tag.size() - 1 || tag.find('=', equals + 1) != std::string::npos)
      return InvalidArgument(fmt::format("tags: \"{}\", a word or NAME=VALUE required", tag));
  }
  return OkStatus();
}

Status CheckNumbers(const v1::DeviceFacts& facts) {
  constexpr double kMaxPeak = 1e12;
  constexpr int64_t kMaxMemory = int64_t{1} << 60;
  RETURN_IF_ERROR(CheckCount("cpus", facts.cpus_size(), kMaxCpus));
  for (const int cpu : facts.cpus()) RETURN_IF_ERROR(CheckRange("cpus", cpu, 0, kMaxCpus));
  RETURN_IF_ERROR(CheckRange<int>("num_cores", facts.num_cores(), 0, kMaxCpus));
  RETURN_IF_ERROR(CheckRange<int64_t>("memory_bytes", facts.memory_bytes(), 0, kMaxMemory));
  RETURN_IF_ERROR(CheckRange("peak_gflops", facts.peak_gflops(), 0.0, kMaxPeak));
  return CheckRange("peak_gops", facts.peak_gops(), 0.0, kMaxPeak);
}

Status CheckFacts(const v1::DeviceFacts& facts) {
  RETURN_IF_ERROR(CheckTag("arch", facts.arch()));
  RETURN_IF_ERROR(CheckFact("cpu_model", facts.cpu_model()));
  RETURN_IF_ERROR(CheckFact("os", facts.os()));
  RETURN_IF_ERROR(CheckFact("sandbox", facts.sandbox()));
  RETURN_IF_ERROR(CheckTags("cpu_features", facts.cpu_features()));
  RETURN_IF_ERROR(CheckOwnTags(facts.tags()));
  return CheckNumbers(facts);
}

Status CheckSpooledKeys(const v1::Hello& hello) {
  RETURN_IF_ERROR(CheckCount("spooled_keys", hello.spooled_keys_size(), kMaxSpooled));
  for (const std::string& key : hello.spooled_keys()) {
    if (key.size() != kDigestBytes)
      return InvalidArgument(
          fmt::format("spooled_keys: a key of {} bytes, {} required; upgrade the device", key.size(), kDigestBytes));
  }
  return OkStatus();
}

Status CheckRest(const v1::Hello& hello) {
  RETURN_IF_ERROR(CheckFact("build_id", hello.build_id()));
  RETURN_IF_ERROR(CheckTags("features", hello.features()));
  RETURN_IF_ERROR(CheckRange<int64_t>("epoch_seen", hello.epoch_seen(), 0, INT64_MAX));
  RETURN_IF_ERROR(CheckFacts(hello.facts()));
  RETURN_IF_ERROR(CheckSpooledKeys(hello));
  return CheckCurrent(hello.current());
}

}  // namespace

Status CheckHello(const v1::Hello& hello) {
  RETURN_IF_ERROR(CheckDeviceName("device name", hello.facts().name()));
  RETURN_IF_ERROR(CheckDeviceName("device key", hello.facts().key()));
  return CheckRest(hello).WithContext(fmt::format("greet device \"{}\"", hello.facts().name()));
}

Status CheckCurrent(const v1::Current& current) { return CheckCount("trials", current.trials_size(), kMaxTrials); }

Status CheckDeviceTags(const std::vector<std::string>& tags) { return CheckOwnTags(tags); }

std::string PrintableFact(std::string_view text) {
  std::string fact(text.substr(0, kMaxFactBytes));
  std::replace_if(fact.begin(), fact.end(), std::not_fn(IsPrintable), '?');
  return fact;
}

}  // namespace lathe
