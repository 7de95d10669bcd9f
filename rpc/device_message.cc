#include "rpc/device_message.h"

#include <fmt/format.h>

#include <cmath>

#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kMaxSamples = 4096;
constexpr size_t kMaxName = 64;

template <typename M>
struct Tag {
  using type = M;
};

// Calls `use(Tag<M>, name)` for the message type of `type`; false if there is none.
template <typename Use>
bool WithMessageType(FrameType type, Use&& use) {
  switch (type) {
    case FrameType::kHello:
      use(Tag<v1::Hello>(), "Hello");
      return true;
    case FrameType::kWelcome:
      use(Tag<v1::Welcome>(), "Welcome");
      return true;
    case FrameType::kDesired:
      use(Tag<v1::Desired>(), "Desired");
      return true;
    case FrameType::kCurrent:
      use(Tag<v1::Current>(), "Current");
      return true;
    case FrameType::kNeedBlobs:
      use(Tag<v1::NeedBlobs>(), "NeedBlobs");
      return true;
    case FrameType::kBlobChunk:
      use(Tag<v1::BlobChunk>(), "BlobChunk");
      return true;
    case FrameType::kBlobCredit:
      use(Tag<v1::BlobCredit>(), "BlobCredit");
      return true;
    case FrameType::kBlobUnavailable:
      use(Tag<v1::BlobUnavailable>(), "BlobUnavailable");
      return true;
    case FrameType::kMeasureResult:
      use(Tag<v1::MeasureResult>(), "MeasureResult");
      return true;
    case FrameType::kResultAck:
      use(Tag<v1::ResultAck>(), "ResultAck");
      return true;
    case FrameType::kUnsupported:
      use(Tag<v1::Unsupported>(), "Unsupported");
      return true;
    case FrameType::kVersionMismatch:
      use(Tag<v1::VersionMismatch>(), "VersionMismatch");
      return true;
    case FrameType::kRefused:
      use(Tag<v1::Refused>(), "Refused");
      return true;
    case FrameType::kJoin:
      use(Tag<v1::Join>(), "Join");
      return true;
    case FrameType::kRenew:
      use(Tag<v1::Renew>(), "Renew");
      return true;
    case FrameType::kSigned:
      use(Tag<v1::Signed>(), "Signed");
      return true;
  }
  return false;
}

// The variant's alternatives stand in the order of the type numbers, from 1.
FrameType TypeOf(const DeviceMessage& message) { return static_cast<FrameType>(message.index() + 1); }

Status CheckRef(std::string_view what, const v1::BlobRef& ref) {
  if (ref.digest().size() != 32) {
    return InvalidArgument(fmt::format("{}: digest of {} bytes, 32 required", what, ref.digest().size()));
  }
  if (ref.size() < 1 || ref.size() > kMaxBlobBytes) {
    return InvalidArgument(fmt::format("{}: size {} bytes, 1 to {} required", what, ref.size(), kMaxBlobBytes));
  }
  return OkStatus();
}

}  // namespace

std::string_view DeviceMessageName(const DeviceMessage& message) {
  std::string_view name = "unknown message";
  WithMessageType(TypeOf(message), [&](auto, std::string_view found) { name = found; });
  return name;
}

uint16_t DeviceMessageType(const DeviceMessage& message) {
  const auto* unknown = std::get_if<UnknownMessage>(&message);
  return unknown != nullptr ? unknown->type : static_cast<uint16_t>(TypeOf(message));
}

StatusOr<DeviceMessage> DecodeDeviceMessage(const Frame& frame) {
  DeviceMessage message = UnknownMessage{frame.type};
  Status status;
  WithMessageType(static_cast<FrameType>(frame.type), [&](auto tag, std::string_view name) {
    typename decltype(tag)::type decoded;
    if (!decoded.ParseFromString(frame.payload)) {
      status = InvalidArgument(
          fmt::format("decode {}: {} bytes are no such message; connection closed", name, frame.payload.size()));
    }
    message = std::move(decoded);
  });
  if (!status.ok()) return status;
  return message;
}

Status AppendDeviceMessage(const DeviceMessage& message, uint32_t stream, std::string& out) {
  return std::visit(
      [&](const auto& body) -> Status {
        if constexpr (std::is_same_v<std::decay_t<decltype(body)>, UnknownMessage>) {
          return InternalError("send: a message of unknown type cannot be sent");
        } else {
          return AppendFrame(TypeOf(message), stream, body.SerializeAsString(), out);
        }
      },
      message);
}

Status CheckDeviceName(std::string_view what, std::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxName && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
  if (good) return OkStatus();
  return InvalidArgument(
      fmt::format("{} \"{}\": 1 to {} characters of a-z 0-9 . _ - required", what, name.substr(0, 80), kMaxName));
}

Status CheckMeasureSpec(const v1::MeasureSpec& spec) {
  const std::string place = fmt::format("measure spec of trial {}", spec.trial_id());
  RETURN_IF_ERROR(CheckRef(place + ", module", spec.module()));
  if (spec.has_reference()) RETURN_IF_ERROR(CheckRef(place + ", reference", spec.reference()));
  if (spec.attempt() < 1)
    return InvalidArgument(fmt::format("{}: attempt {}, at least 1 required", place, spec.attempt()));
  if (spec.wall_limit_ns() < 1)
    return InvalidArgument(fmt::format("{}: wall limit {} ns, a positive one required", place, spec.wall_limit_ns()));
  if (spec.threads() < 1)
    return InvalidArgument(fmt::format("{}: {} threads, at least 1 required", place, spec.threads()));
  if (spec.kernel().empty()) return InvalidArgument(place + ": no kernel named; name one of the module's");
  if (spec.memory_limit_bytes() < 0)
    return InvalidArgument(fmt::format("{}: memory limit {} bytes is negative", place, spec.memory_limit_bytes()));
  return OkStatus();
}

Status CheckDesired(const v1::Desired& desired) {
  if (desired.specs_size() > kMaxDesiredSpecs) {
    return InvalidArgument(
        fmt::format("desired state: {} specs, at most {} are accepted", desired.specs_size(), kMaxDesiredSpecs));
  }
  for (const v1::MeasureSpec& spec : desired.specs()) {
    RETURN_IF_ERROR(CheckMeasureSpec(spec));
    if (spec.epoch() != desired.epoch()) {
      return InvalidArgument(fmt::format("desired state of epoch {}: trial {} has epoch {}; both must agree",
                                         desired.epoch(), spec.trial_id(), spec.epoch()));
    }
  }
  return OkStatus();
}

Status CheckMeasureResult(const v1::MeasureResult& result) {
  const std::string place = fmt::format("result of trial {}", result.trial_id());
  if (result.module_digest().size() != 32) {
    return InvalidArgument(
        fmt::format("{}: module digest of {} bytes, 32 required", place, result.module_digest().size()));
  }
  const Digest key = ResultKey(result.trial_id(), result.attempt(), result.epoch(), result.policy_version(),
                               *Digest::FromBytes(result.module_digest()), result.device());
  if (result.key() != key.raw())
    return InvalidArgument(place + ": key does not belong to its trial, attempt, epoch and module");
  if (result.samples_ns_size() > kMaxSamples) {
    return InvalidArgument(
        fmt::format("{}: {} samples, at most {} are accepted", place, result.samples_ns_size(), kMaxSamples));
  }
  for (const double sample : result.samples_ns()) {
    if (!std::isfinite(sample) || sample < 0)
      return InvalidArgument(fmt::format("{}: sample {} ns; finite, not negative required", place, sample));
  }
  if (!std::isfinite(result.max_error()) || result.max_error() < 0)
    return InvalidArgument(
        fmt::format("{}: largest error {}; finite, not negative required", place, result.max_error()));
  return OkStatus();
}

Digest ResultKey(int64_t trial_id, int32_t attempt, int64_t epoch, int32_t policy_version, const Digest& module,
                 std::string_view device) {
  std::string text = "lathe.result/1";
  const auto append = [&text](uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
  };
  append(static_cast<uint64_t>(trial_id), 8);
  append(static_cast<uint32_t>(attempt), 4);
  append(static_cast<uint64_t>(epoch), 8);
  append(static_cast<uint32_t>(policy_version), 4);
  text += module.raw();
  text += device;
  return Sha256(text);
}

Digest ResultKey(const v1::MeasureSpec& spec, std::string_view device) {
  const StatusOr<Digest> module = Digest::FromBytes(spec.module().digest());
  CHECK(module.ok()) << "a spec must be checked before it is used";
  return ResultKey(spec.trial_id(), spec.attempt(), spec.epoch(), spec.policy().version(), *module, device);
}

}  // namespace lathe
