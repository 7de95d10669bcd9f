// Where devices connect: listens on loopback or a Unix socket, or takes one end of a socket pair; the same frames on
// all of them. The shell around DeviceGatewaySession: one thread of its own, no decision.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "proto/lathe/v1/device.pb.h"
#include "rpc/endpoint.h"
#include "rpc/tls.h"
#include "support/certificate.h"
#include "support/clock.h"
#include "support/digest.h"
#include "support/status.h"

namespace lathe {

struct BlobPiece {
  std::string data;
  int64_t size = 0;  // Of the whole blob.
};

// Who takes what devices say. All methods are called on the gateway's thread, one at a time, and should return soon.
class DeviceGatewayOwner {
 public:
  virtual ~DeviceGatewayOwner() = default;
  // A device connected; a reconnection calls this again, after OnDeviceDown or without.
  virtual void OnDeviceUp(const v1::Hello& hello) = 0;
  virtual void OnDeviceHeard(const std::string& device, const v1::Current& current) = 0;
  virtual void OnDeviceDown(const std::string& device, const std::string& reason) = 0;
  // Checked for form only. Commit, then DeviceGateway::Acknowledge. May come more than once.
  virtual void OnResult(const v1::MeasureResult& result) = 0;
  // Up to `limit` bytes of a blob from `offset`.
  virtual StatusOr<BlobPiece> ReadBlob(const Digest& digest, int64_t offset, int64_t limit) = 0;
};

// Who judges what machines show and asks for certificates (docs/decisions/0061-identity.md). Called on the gateway's
// thread, one at a time; should return soon.
class MachineAuthenticator {
 public:
  virtual ~MachineAuthenticator() = default;
  virtual std::shared_ptr<TlsContext> Context() = 0;  // For the next handshake; asked for each hour at least.
  // Whose certificate it is. Unauthenticated says why it is nobody's (any more).
  virtual StatusOr<CertificateFacts> Identify(const std::string& certificate_pem) = 0;
  // That what Identify found still holds; Unauthenticated if not, another error where that is not known now.
  virtual Status CheckStanding(const CertificateFacts& machine) = 0;
  virtual StatusOr<std::string> Join(const v1::Join& join) = 0;  // The certificate, in PEM.
  virtual StatusOr<std::string> Renew(const CertificateFacts& machine, const std::string& request_pem) = 0;
  virtual void OnRefused(const std::string& address, const std::string& why) = 0;  // For the audit.
};

struct DeviceGatewayOptions {
  std::string build_id;
  Duration heartbeat = std::chrono::seconds(5);
  int max_devices = 1024;  // Connected at once.
  int max_strangers = 64;  // Likewise, that have not said Hello: they neither wait for long nor keep devices out.
  // With one, every TCP connection is encrypted, and machines are what their certificates say; it outlives the gateway.
  // Without one, TCP is of this machine only, and open.
  MachineAuthenticator* authenticator = nullptr;
  std::function<void(std::string)> log = [](std::string) {};
};

class DeviceGateway {
 public:
  // Starts the thread. `owner` must outlive the gateway.
  DeviceGateway(DeviceGatewayOptions options, DeviceGatewayOwner& owner);
  ~DeviceGateway();  // Closes every connection; the owner is not called any more.
  DeviceGateway(const DeviceGateway&) = delete;

  // Thread-safe, all of these.
  // Returns where devices can dial (a port of 0 is replaced by the real one). Unavailable if the place is taken.
  StatusOr<Endpoint> Listen(const Endpoint& endpoint);
  void Adopt(int fd);              // A connected socket, e.g. one end of MakeSocketPair.
  StatusOr<int> MakeSocketPair();  // Adopts one end and returns the other, for a device in this process.
  // From now on, also after reconnections, until called again. Valid as CheckDesired defines it, else InvalidArgument.
  Status SetDesired(const std::string& device, v1::Desired desired);
  void Acknowledge(const std::string& device, const Digest& key, v1::AckVerdict verdict);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
