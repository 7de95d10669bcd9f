// The messages of the device protocol as one closed set, and their way into and out of frames.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "proto/lathe/v1/device.pb.h"
#include "rpc/frame.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe {

// A frame whose type this build does not know.
struct UnknownMessage {
  uint16_t type = 0;
};

using DeviceMessage =
    std::variant<v1::Hello, v1::Welcome, v1::Desired, v1::Current, v1::NeedBlobs, v1::BlobChunk, v1::BlobCredit,
                 v1::BlobUnavailable, v1::MeasureResult, v1::ResultAck, v1::Unsupported, v1::VersionMismatch,
                 v1::Refused, v1::Join, v1::Renew, v1::Signed, UnknownMessage>;

inline constexpr uint32_t kDeviceProtocolMin = 1;
inline constexpr uint32_t kDeviceProtocolMax = 1;
inline constexpr int64_t kMaxBlobBytes = 256 << 20;
inline constexpr int64_t kBlobWindowBytes = 256 << 10;
inline constexpr int kMaxDesiredSpecs = 3;
// A feature: the server answers heartbeats, and a device that hears nothing for long dials anew.
inline constexpr std::string_view kAnswersFeature = "answers";

// The message's name, for error texts: "Hello", "Desired".
std::string_view DeviceMessageName(const DeviceMessage& message);
uint16_t DeviceMessageType(const DeviceMessage& message);  // On the wire.

// InvalidArgument if the payload is no such message. An unknown type is UnknownMessage, not an error.
StatusOr<DeviceMessage> DecodeDeviceMessage(const Frame& frame);
// Appends the frame to `out`. `stream` is 0 for all but BlobChunk. InvalidArgument if it exceeds the frame's limit.
Status AppendDeviceMessage(const DeviceMessage& message, uint32_t stream, std::string& out);

// [a-z0-9._-]{1,64}, as device names and keys must be. `what` begins the error text.
Status CheckDeviceName(std::string_view what, std::string_view name);
// Sizes, digests, epochs and counts of a spec or of a whole desired state. InvalidArgument names the field.
Status CheckMeasureSpec(const v1::MeasureSpec& spec);
Status CheckDesired(const v1::Desired& desired);
// Key present and right, samples finite and few enough.
Status CheckMeasureResult(const v1::MeasureResult& result);

// The name under which a measurement is recorded at most once (docs/formats/device_protocol.md, "Result key").
Digest ResultKey(int64_t trial_id, int32_t attempt, int64_t epoch, int32_t policy_version, const Digest& module,
                 std::string_view device);
Digest ResultKey(const v1::MeasureSpec& spec, std::string_view device);

}  // namespace lathe
