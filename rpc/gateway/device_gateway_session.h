// The server's side of one connection of a device: greets it, passes on what is desired, streams blobs within the
// credit window, hands results up and acknowledges them after the commit. step(event, now) -> actions; no I/O, no
// thread, no clock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rpc/device_message.h"
#include "support/clock.h"
#include "support/digest.h"
#include "support/role.h"
#include "support/status.h"

namespace lathe {

// Who is at the other end of a connection.
struct GatewayPeer {
  Role role = Role::kDevice;  // Or kWorker; kJoining: it showed no certificate.
  std::string name;           // By its certificate; empty: it came over the server's own socket, and is believed.
};

// Events.
struct PeerKnown {
  StatusOr<GatewayPeer> peer;
};  // Of an encrypted connection, before any message; an error is why it may not come in.
struct RequestSigned {
  StatusOr<std::string> certificate_pem;
};  // Answers JoinRequested and RenewRequested.
struct GatewayReceived {
  DeviceMessage message;
};
struct DeviceAdmitted {
  v1::Desired desired;
};  // Answers DeviceArrived.
struct DeviceRejected {
  std::string reason;
};  // Answers DeviceArrived.
struct DesiredChanged {
  v1::Desired desired;
};  // Replaces the former one.
struct BlobRead {
  Digest digest;
  int64_t offset;
  Status status;
  std::string data;
  int64_t size;
};  // Answers ReadBlob.
struct ResultCommitted {
  Digest key;
  v1::AckVerdict verdict;
};
struct GatewayTime {};
using GatewayEvent = std::variant<PeerKnown, RequestSigned, GatewayReceived, DeviceAdmitted, DeviceRejected,
                                  DesiredChanged, BlobRead, ResultCommitted, GatewayTime>;

// Actions, to be done in order.
struct GatewaySend {
  DeviceMessage message;
  uint32_t stream = 0;
};
struct DeviceArrived {
  v1::Hello hello;
};  // Answer with DeviceAdmitted or DeviceRejected.
struct DeviceSpoke {
  v1::Current current;
};  // A sign of life, with what is so.
struct ResultArrived {
  v1::MeasureResult result;
};  // Checked; commit it, then answer with ResultCommitted.
struct ReadBlob {
  Digest digest;
  int64_t offset;
  int64_t limit;
};
struct JoinRequested {
  v1::Join join;
};  // Answer with RequestSigned.
struct RenewRequested {
  std::string request_pem;
};  // Likewise.
struct GatewayClose {
  std::string reason;
};  // After what was sent. The session is over.
using GatewayAction = std::variant<GatewaySend, DeviceArrived, DeviceSpoke, ResultArrived, ReadBlob, JoinRequested,
                                   RenewRequested, GatewayClose>;

struct GatewaySessionOptions {
  std::string build_id;
  Duration heartbeat = std::chrono::seconds(5);
  Duration silence_limit = std::chrono::seconds(30);  // Then the connection is closed.
  std::vector<std::string> features = {std::string(kAnswersFeature)};
  int64_t unix_ns = 0;        // Told to the device, for display.
  bool is_encrypted = false;  // Then PeerKnown comes before any message; else the peer is believed.
};

class DeviceGatewaySession {
 public:
  DeviceGatewaySession(GatewaySessionOptions options, TimePoint now);

  std::vector<GatewayAction> Step(const GatewayEvent& event, TimePoint now);
  std::optional<TimePoint> NextDeadline() const;         // When Step(GatewayTime) is due.
  const std::string& device() const { return device_; }  // Empty before Hello.
  bool is_open() const { return state_ == State::kOpen; }

 private:
  enum class State { kShaking, kGreeting, kSigning, kDeciding, kOpen, kClosed };
  struct Transfer {
    Digest digest;
    int64_t offset;
    uint32_t stream;
  };
  using Actions = std::vector<GatewayAction>;

  void On(const PeerKnown& event, TimePoint now, Actions& actions);
  void On(const RequestSigned& event, TimePoint now, Actions& actions);
  void On(const GatewayReceived& event, TimePoint now, Actions& actions);
  void On(const DeviceAdmitted& event, TimePoint now, Actions& actions);
  void On(const DeviceRejected& event, TimePoint now, Actions& actions);
  void On(const DesiredChanged& event, TimePoint now, Actions& actions);
  void On(const BlobRead& event, TimePoint now, Actions& actions);
  void On(const ResultCommitted& event, TimePoint now, Actions& actions);
  void On(const GatewayTime& event, TimePoint now, Actions& actions);
  void GreetWith(const DeviceMessage& message, TimePoint now, Actions& actions);
  void Ask(const DeviceMessage& message, GatewayAction request, Actions& actions);
  void Greet(const v1::Hello& hello, Actions& actions);
  Status CheckPeer(const v1::Hello& hello) const;
  void Take(const v1::Current& message, TimePoint now, Actions& actions);
  void Take(const v1::NeedBlobs& message, Actions& actions);
  void Take(const v1::BlobCredit& message, Actions& actions);
  void Take(const v1::MeasureResult& message, Actions& actions);
  void ReadNext(Actions& actions);
  void Close(std::string reason, Actions& actions);

  const GatewaySessionOptions options_;
  State state_;
  GatewayPeer peer_;
  std::string device_;
  v1::Hello hello_;
  v1::Desired desired_;   // As last said.
  bool answers_ = false;  // Both announced it.
  TimePoint last_said_;
  TimePoint last_heard_;            // Before Hello: when it connected, whatever else it says.
  std::deque<Transfer> transfers_;  // The first one is being read; in the order asked for.
  bool is_reading_ = false;
  int64_t credit_ = kBlobWindowBytes;
  uint32_t next_stream_ = 1;
};

}  // namespace lathe
