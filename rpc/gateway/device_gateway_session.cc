#include "rpc/gateway/device_gateway_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "rpc/hello_check.h"
#include "rpc/permissions.h"

namespace lathe {
namespace {

constexpr Duration kHelloWithin = std::chrono::seconds(5);
constexpr size_t kMaxTransfers = 16;

}  // namespace

DeviceGatewaySession::DeviceGatewaySession(GatewaySessionOptions options, TimePoint now)
    : options_(std::move(options)),
      state_(options_.is_encrypted ? State::kShaking : State::kGreeting),
      last_said_(now),
      last_heard_(now) {}

std::vector<GatewayAction> DeviceGatewaySession::Step(const GatewayEvent& event, TimePoint now) {
  Actions actions;
  if (state_ != State::kClosed) std::visit([&](const auto& e) { On(e, now, actions); }, event);
  const auto says = [](const GatewayAction& action) { return std::holds_alternative<GatewaySend>(action); };
  if (std::any_of(actions.begin(), actions.end(), says)) last_said_ = now;
  return actions;
}

void DeviceGatewaySession::Close(std::string reason, Actions& actions) {
  state_ = State::kClosed;
  actions.push_back(GatewayClose{std::move(reason)});
}

// ---- Who it is.

void DeviceGatewaySession::On(const PeerKnown& event, TimePoint now, Actions& actions) {
  if (state_ != State::kShaking) return;
  state_ = State::kGreeting;
  last_heard_ = now;
  if (!event.peer.ok()) return On(DeviceRejected{event.peer.status().message()}, now, actions);
  peer_ = *event.peer;
}

void DeviceGatewaySession::On(const RequestSigned& event, TimePoint now, Actions& actions) {
  if (state_ != State::kSigning) return;
  if (!event.certificate_pem.ok()) return On(DeviceRejected{event.certificate_pem.status().message()}, now, actions);
  v1::Signed answer;
  answer.set_certificate_pem(*event.certificate_pem);
  actions.push_back(GatewaySend{std::move(answer)});
  Close("a certificate was signed", actions);
}

// In words that help; what else may not be is the table's (rpc/permissions.h).
Status DeviceGatewaySession::CheckPeer(const v1::Hello& hello) const {
  const std::string& name = hello.facts().name();
  if (peer_.role == Role::kJoining)
    return Unauthenticated(
        "greet device: it shows no certificate; make a code on the server (lathe invite device) and join with it "
        "(lathe-device join HOST:PORT CODE)");
  if (peer_.role != Role::kDevice)
    return PermissionDenied(
        fmt::format("greet device: its certificate is of a {}, not of a device", RoleName(peer_.role)));
  if (peer_.name.empty() || peer_.name == name) return OkStatus();
  return PermissionDenied(
      fmt::format("greet device: its certificate is of \"{}\", it says it is \"{}\"; start it with --name {}",
                  peer_.name, PrintableFact(name), peer_.name));
}

// ---- What it says.

void DeviceGatewaySession::On(const GatewayReceived& event, TimePoint now, Actions& actions) {
  const DeviceMessage& message = event.message;
  if (state_ == State::kShaking || state_ == State::kSigning)
    return Close("greet device: a message too early", actions);
  if (state_ == State::kGreeting) return GreetWith(message, now, actions);
  if (std::holds_alternative<v1::Current>(message)) last_heard_ = now;  // What else it says is no sign that it is well.
  if (const auto* unknown = std::get_if<UnknownMessage>(&message)) {
    v1::Unsupported answer;
    answer.set_type(unknown->type);
    actions.push_back(GatewaySend{std::move(answer)});
    return;
  }
  if (std::holds_alternative<v1::Unsupported>(message)) return;
  if (std::holds_alternative<v1::Hello>(message)) return;  // Said twice.
  if (state_ != State::kOpen) {
    return Close(
        fmt::format("greet device: {} arrived before Welcome was sent; connection closed", DeviceMessageName(message)),
        actions);
  }
  if (const auto* current = std::get_if<v1::Current>(&message))
    Take(*current, now, actions);
  else if (const auto* need = std::get_if<v1::NeedBlobs>(&message))
    Take(*need, actions);
  else if (const auto* credit = std::get_if<v1::BlobCredit>(&message))
    Take(*credit, actions);
  else if (const auto* result = std::get_if<v1::MeasureResult>(&message))
    Take(*result, actions);
  else
    Close(
        fmt::format("device \"{}\": a device does not send {}; connection closed", device_, DeviceMessageName(message)),
        actions);
}

// Nothing of what strangers say but Hello is heard, so that none stays by saying something now and then.
void DeviceGatewaySession::GreetWith(const DeviceMessage& message, TimePoint now, Actions& actions) {
  if (const auto* join = std::get_if<v1::Join>(&message)) return Ask(message, JoinRequested{*join}, actions);
  if (const auto* renew = std::get_if<v1::Renew>(&message))
    return Ask(message, RenewRequested{renew->request_pem()}, actions);
  const auto* hello = std::get_if<v1::Hello>(&message);
  if (hello == nullptr) {
    return Close(fmt::format("greet device: {} arrived before Hello; connection closed, say Hello first",
                             DeviceMessageName(message)),
                 actions);
  }
  last_heard_ = now;
  Greet(*hello, actions);
}

// What a connection that joins or renews is for.
void DeviceGatewaySession::Ask(const DeviceMessage& message, GatewayAction request, Actions& actions) {
  Status status = CheckMaySend(peer_.role, DeviceMessageType(message));
  if (status.ok() && peer_.role != Role::kJoining && peer_.name.empty())
    status = PermissionDenied("renew certificate: this connection shows none");
  if (!status.ok()) return Close(status.message() + "; connection closed", actions);
  state_ = State::kSigning;
  actions.push_back(std::move(request));
}

void DeviceGatewaySession::Greet(const v1::Hello& hello, Actions& actions) {
  if (hello.proto_max() < kDeviceProtocolMin || hello.proto_min() > kDeviceProtocolMax) {
    v1::VersionMismatch answer;
    answer.set_device_min(hello.proto_min());
    answer.set_device_max(hello.proto_max());
    answer.set_server_min(kDeviceProtocolMin);
    answer.set_server_max(kDeviceProtocolMax);
    const bool is_device_older = hello.proto_max() < kDeviceProtocolMin;
    answer.set_message(
        fmt::format("greet device: device {} speaks protocol {} to {}, server {} speaks {} to {}; upgrade the {}",
                    PrintableFact(hello.build_id()), hello.proto_min(), hello.proto_max(), options_.build_id,
                    kDeviceProtocolMin, kDeviceProtocolMax, is_device_older ? "device" : "server"));
    const std::string reason = answer.message();
    actions.push_back(GatewaySend{std::move(answer)});
    return Close(reason, actions);
  }
  Status status = CheckPeer(hello);
  if (status.ok()) status = CheckHello(hello);
  if (!status.ok()) return On(DeviceRejected{status.message()}, {}, actions);
  state_ = State::kDeciding;
  hello_ = hello;
  device_ = hello.facts().name();
  actions.push_back(DeviceArrived{hello});
}

void DeviceGatewaySession::On(const DeviceRejected& event, TimePoint, Actions& actions) {
  v1::Refused answer;
  answer.set_message(event.reason);
  actions.push_back(GatewaySend{std::move(answer)});
  Close(event.reason, actions);
}

void DeviceGatewaySession::On(const DeviceAdmitted& event, TimePoint, Actions& actions) {
  if (state_ != State::kDeciding) return;
  state_ = State::kOpen;
  v1::Welcome welcome;
  welcome.set_version(std::min(hello_.proto_max(), kDeviceProtocolMax));
  for (const std::string& feature : hello_.features()) {
    if (std::find(options_.features.begin(), options_.features.end(), feature) != options_.features.end())
      welcome.add_features(feature);
  }
  const auto& agreed = welcome.features();
  answers_ = std::find(agreed.begin(), agreed.end(), kAnswersFeature) != agreed.end();
  welcome.set_heartbeat_ns(options_.heartbeat.count());
  welcome.set_max_blob_bytes(kMaxBlobBytes);
  welcome.set_server_unix_ns(options_.unix_ns);
  *welcome.mutable_desired() = desired_ = event.desired;
  actions.push_back(GatewaySend{std::move(welcome)});
}

void DeviceGatewaySession::On(const DesiredChanged& event, TimePoint, Actions& actions) {
  if (state_ != State::kOpen) return;
  desired_ = event.desired;
  actions.push_back(GatewaySend{event.desired});
}

void DeviceGatewaySession::Take(const v1::Current& message, TimePoint now, Actions& actions) {
  const Status status = CheckCurrent(message);
  if (!status.ok())
    return Close(fmt::format("device \"{}\": {}; connection closed", device_, status.message()), actions);
  // Before anybody hears of it and desires something else.
  if (answers_ && now - last_said_ >= options_.heartbeat / 2) actions.push_back(GatewaySend{desired_});
  actions.push_back(DeviceSpoke{message});
}

void DeviceGatewaySession::Take(const v1::MeasureResult& message, Actions& actions) {
  Status status = CheckMeasureResult(message);
  if (status.ok() && message.device() != device_) {
    status = InvalidArgument(fmt::format("result of device \"{}\" came from device \"{}\"", message.device(), device_));
  }
  if (!status.ok()) return Close(status.message() + "; connection closed", actions);
  actions.push_back(ResultArrived{message});
}

void DeviceGatewaySession::On(const ResultCommitted& event, TimePoint, Actions& actions) {
  if (state_ != State::kOpen) return;
  v1::ResultAck ack;
  ack.set_key(std::string(event.key.raw()));
  ack.set_verdict(event.verdict);
  actions.push_back(GatewaySend{std::move(ack)});
}

// ---- Blobs.

void DeviceGatewaySession::Take(const v1::NeedBlobs& message, Actions& actions) {
  for (const v1::NeedBlobs::Need& need : message.blobs()) {
    const StatusOr<Digest> digest = Digest::FromBytes(need.digest());
    if (!digest.ok() || need.offset() < 0) {
      return Close(fmt::format("device \"{}\": asks for a blob by {} digest bytes from offset {}; connection closed",
                               device_, need.digest().size(), need.offset()),
                   actions);
    }
    const auto same =
        std::find_if(transfers_.begin(), transfers_.end(), [&](const Transfer& t) { return t.digest == *digest; });
    if (same != transfers_.end()) {
      same->offset = need.offset();
      continue;
    }
    if (transfers_.size() >= kMaxTransfers) {
      return Close(
          fmt::format("device \"{}\": asks for more than {} blobs at once; connection closed", device_, kMaxTransfers),
          actions);
    }
    transfers_.push_back({*digest, need.offset(), next_stream_});
    next_stream_ = next_stream_ == UINT32_MAX ? 1 : next_stream_ + 1;
  }
  ReadNext(actions);
}

void DeviceGatewaySession::Take(const v1::BlobCredit& message, Actions& actions) {
  if (message.bytes() < 0 || credit_ + message.bytes() > kBlobWindowBytes) {
    return Close(fmt::format("device \"{}\": returns {} bytes of credit, {} are out; connection closed", device_,
                             message.bytes(), kBlobWindowBytes - credit_),
                 actions);
  }
  credit_ += message.bytes();
  ReadNext(actions);
}

void DeviceGatewaySession::ReadNext(Actions& actions) {
  if (is_reading_ || transfers_.empty() || credit_ <= 0) return;
  is_reading_ = true;
  actions.push_back(
      ReadBlob{transfers_.front().digest, transfers_.front().offset, std::min<int64_t>(credit_, kMaxBlobData)});
}

void DeviceGatewaySession::On(const BlobRead& event, TimePoint, Actions& actions) {
  is_reading_ = false;
  const auto it =
      std::find_if(transfers_.begin(), transfers_.end(), [&](const Transfer& t) { return t.digest == event.digest; });
  if (it == transfers_.end() || it->offset != event.offset)
    return ReadNext(actions);  // Asked anew from elsewhere meanwhile.
  if (!event.status.ok()) {
    v1::BlobUnavailable answer;
    answer.set_digest(std::string(event.digest.raw()));
    answer.set_message(event.status.message());
    actions.push_back(GatewaySend{std::move(answer)});
    transfers_.erase(it);
    return ReadNext(actions);
  }
  v1::BlobChunk chunk;
  chunk.set_digest(std::string(event.digest.raw()));
  chunk.set_offset(event.offset);
  chunk.set_data(event.data);
  credit_ -= static_cast<int64_t>(event.data.size());
  it->offset += static_cast<int64_t>(event.data.size());
  actions.push_back(GatewaySend{std::move(chunk), it->stream});
  if (it->offset >= event.size || event.data.empty()) transfers_.erase(it);
  ReadNext(actions);
}

// ---- Time.

void DeviceGatewaySession::On(const GatewayTime&, TimePoint now, Actions& actions) {
  const Duration limit = state_ == State::kOpen ? options_.silence_limit : kHelloWithin;
  if (now - last_heard_ < limit) return;
  Close(state_ != State::kOpen ? std::string("greet device: no Hello within 5 s; connection closed")
                               : fmt::format("device \"{}\": silent for {} s; connection closed", device_,
                                             std::chrono::duration_cast<std::chrono::seconds>(limit).count()),
        actions);
}

std::optional<TimePoint> DeviceGatewaySession::NextDeadline() const {
  if (state_ == State::kClosed) return std::nullopt;
  return last_heard_ + (state_ == State::kOpen ? options_.silence_limit : kHelloWithin);
}

}  // namespace lathe
