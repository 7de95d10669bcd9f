// A whole farm of real processes in a folder of its own, whose members know each other by certificates and reach their
// server through a fault proxy; and what can be done to it.
#pragma once

#include <memory>
#include <set>

#include "tests/e2e/chaos/farm_process.h"
#include "tests/e2e/chaos/fault_proxy.h"
#include "tests/e2e/chaos/history.h"
#include "tests/e2e/chaos/plan.h"
#include "tuner/service/client.h"

namespace lathe::chaos {

struct FarmPlace {
  std::string folder;  // There already, and empty. A short path: sockets lie in it.
  uint64_t seed = 0;   // Of what links do at random.
  Members members;
};

// Not thread-safe, but for the proxy.
class Farm {
 public:
  // With an authority; everybody has joined, and everything runs. Mounts disks where `members` says so, in the mount
  // namespace of this process.
  static StatusOr<std::unique_ptr<Farm>> Start(FarmPlace place);
  ~Farm();

  // True when it was done; false where it cannot be yet (there is no such child just now): to be asked again.
  bool Begin(const Fault& fault);
  void End(const Fault& fault);
  // Starts what has to be started, tells the proxy where the server is, keeps full disks full. To be called often.
  void Tick(double seconds);
  // Ends it all as an operator would; how each process ended that did not exit with 0.
  std::vector<std::string> Stop();

  // Where clients dial and what they show; clients take turns between TCP and the server's own socket.
  Endpoint ClientAddress(int client) const;
  ServerConnectionOptions ClientOptions(int client) const;

  std::vector<UnexpectedEnd> TakeUnexpectedEnds() { return std::move(ends_); }
  std::string database() const { return place_.folder + "/server/lathe.db"; }
  std::string SpoolOf(int device) const;
  std::vector<std::string> RunnerPaths() const;
  // In the environment of all that the farm has started.
  std::string Marker() const { return "LATHE_CHAOS_FARM=" + place_.folder; }
  pid_t server_pid() const { return server_.process->pid(); }

 private:
  struct Member {
    std::unique_ptr<FarmProcess> process;
    std::string disk, clock;         // Its data's folder; the file of its clock's shift.
    std::optional<double> start_at;  // When it is to be started again.
    bool is_away = false;            // Killed until its fault ends.
    int lacks = 0;                   // Faults under way that leave it without room or descriptors.
    double lacked_at = -1e9;         // When the last of them ended.
  };

  explicit Farm(FarmPlace place) : place_(std::move(place)) {}
  Status SetUp();
  Status MountDisks();
  Status MakeLinks();
  void MakeMembers();
  Status AwaitServer();
  Status Join();
  StatusOr<std::string> Verb(std::vector<std::string> arguments);
  std::vector<std::string> EnvironmentOf(const std::string& name) const;
  std::vector<Member*> Everybody();
  Member& MemberOf(Role role, int which);
  int LinkOf(Role role, int which) const;

  bool BeginOnProcess(const Fault& fault);
  bool BeginOnChild(const Fault& fault);
  void SetLink(const Fault& fault, bool is_on);
  void FindServer();
  void Take(Member& member);  // kill -9, until GiveBack.
  void GiveBack(Member& member);
  void Restart(Member& member);
  void NoteEnd(Member& member, double seconds);

  const FarmPlace place_;
  std::unique_ptr<FaultProxy> proxy_;
  Member server_;
  std::vector<Member> workers_, devices_;
  std::string token_, authority_pem_, server_address_, devices_address_;
  bool knows_server_ = false;
  std::map<std::pair<Role, int>, std::vector<pid_t>> stopped_children_;
  std::set<Member*> full_;
  std::vector<std::string> mounts_;
  std::vector<UnexpectedEnd> ends_;
};

}  // namespace lathe::chaos
