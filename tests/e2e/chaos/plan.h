// What is done to a farm of real processes, when, and for how long: a function of the seed, so that a run can be read
// and repeated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/clock.h"

namespace lathe::chaos {

enum class FaultKind {
  kKill,            // kill -9; what is nobody's child is started again when the fault ends.
  kStop,            // SIGSTOP, and SIGCONT when the fault ends.
  kKillAll,         // kill -9 of everything at once, and its start when the fault ends.
  kDeadBoard,       // kill -9 of a device that has trials, and nothing of the server's is touched meanwhile.
  kCutLink,         // Its connections are reset; new ones pass.
  kDownLink,        // Its connections are reset, and so is whoever dials.
  kSilentLink,      // Nothing gets through either way, and nobody is told; what was said arrives afterwards.
  kSilentUp,        // Likewise, towards the server only.
  kSilentDown,      // Likewise, from the server only.
  kHalfOpen,        // The connections that there are stay open and say nothing any more; new ones pass.
  kSlowLink,        // `detail` bytes a second each way.
  kDelayedLink,     // Everything arrives `detail` milliseconds late, at most twice that.
  kGarbledLink,     // A bit flips in each `detail`-th piece that passes.
  kTornLink,        // Half of the next piece arrives, then the connection ends.
  kDiskFull,        // Of the server's or the device's data.
  kFewDescriptors,  // The process may open `detail` more; if it is the server, everybody has to dial anew.
  kClockStep,       // Its wall clock steps by `detail` seconds, and stays there until the fault ends.
};
enum class Role { kServer, kWorker, kDevice, kBuilder, kRunner, kSearch, kClient };
std::string_view FaultName(FaultKind kind);
std::string_view RoleName(Role role);

struct Fault {
  Duration at{}, lasts{};
  FaultKind kind = FaultKind::kKill;
  Role role = Role::kServer;  // Whose process, disk or clock; of a link: its end that is not the server.
  int which = 0;              // Of a role that several have: worker, device (of a runner: its device), client.
  int64_t detail = 0;
  bool operator==(const Fault&) const = default;
  std::string ToString() const;  // "12.3 s: stop device 1 for 4.0 s"
};

struct Members {
  int workers = 2, devices = 3, clients = 2;
  bool has_disks = true;  // The server and the devices have disks of their own, which can be filled.
};

// Sorted by time; all are over at `length`. No two act on one process, link, disk or clock at the same time.
// Kinds come in turns, like cards of a deck, so that a run that is long enough has all of them. A dead board is first.
std::vector<Fault> DrawPlan(uint64_t seed, Duration length, const Members& members);

}  // namespace lathe::chaos
