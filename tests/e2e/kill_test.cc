// kill -9 of any one process of a farm, at moments drawn from a seed, and its restart.
#include <thread>

#include "tests/e2e/farm_processes.h"

namespace lathe {
namespace {

enum class Victim { kServer, kServersChild, kWorker, kBuilder, kDevice, kRunner };
constexpr Victim kVictims[] = {Victim::kServer,  Victim::kServersChild, Victim::kWorker,
                               Victim::kBuilder, Victim::kDevice,       Victim::kRunner};
constexpr const char* kVictimNames[] = {"server", "server's child", "worker", "builder", "device", "runner"};

// What the job's events said: the last word on each trial, and that none came twice.
struct Heard {
  std::mutex mutex;
  std::map<int64_t, std::string> endings;  // Guarded by mutex.
  int64_t last_cursor = 0;
  void Take(const v1::WatchJobResponse& update) {
    std::lock_guard lock(mutex);
    for (const v1::JobEvent& event : update.events()) {
      EXPECT_GT(event.cursor(), last_cursor) << "an event came twice";
      last_cursor = event.cursor();
      if (event.kind() != "trial") continue;
      EXPECT_TRUE(endings.emplace(event.subject_id(), event.detail()).second)
          << "trial " << event.subject_id() << " ended twice";
    }
  }
};

class KillTest : public FarmTest {
 protected:
  // Kills it, and starts it again where it is nobody's child. False if there was none just now.
  bool Kill(Victim victim, Random& random) {
    const size_t worker = random.Below(workers.size()), device = random.Below(devices.size());
    switch (victim) {
      case Victim::kServer:
        server->End(SIGKILL);
        StartServer();
        return true;
      case Victim::kServersChild: {
        const pid_t parent = server->pid();
        return KillChild(parent, "lathe-evaluate") || KillChild(parent, "lathe-builder");
      }
      case Victim::kWorker:
        workers[worker]->End(SIGKILL);
        workers[worker] = StartWorker(static_cast<int>(worker));
        return true;
      case Victim::kBuilder:
        return KillChild(workers[worker]->pid(), "lathe-builder");
      case Victim::kDevice:
        devices[device]->End(SIGKILL);
        devices[device] = StartDevice(static_cast<int>(device));
        return true;
      case Victim::kRunner:
        return KillChild(devices[device]->pid(), "lathe-runner");
    }
    return false;
  }
  static bool KillChild(pid_t parent, const std::string& name) {
    const std::vector<pid_t> children = DescendantsOf(parent, name);
    return !children.empty() && kill(children.front(), SIGKILL) == 0;
  }
};

TEST_F(KillTest, OfAnyProcessAtAnyMomentLosesAndDoublesNothing) {
  constexpr int64_t kBudget = 60;
  constexpr int kKills = 20;
  Random random(Seed());
  StartServer();
  StartWorkersAndDevices();
  const int64_t job_id = Submit(Request("killed", MatmulText("matmul", 40), kBudget)).id();
  Heard heard;
  std::atomic<bool> is_over = false;
  v1::Job job;
  std::thread watcher([&] {
    job = WatchToItsEnd(job_id, [&](const v1::WatchJobResponse& update) { heard.Take(update); });
    is_over = true;
  });
  std::map<std::string, int> killed;
  std::vector<Victim> deck;
  for (int kills = 0; kills < kKills && !is_over;) {
    if (deck.empty()) deck.assign(std::begin(kVictims), std::end(kVictims));
    const size_t card = random.Below(deck.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random.Below(500)));
    if (Kill(deck[card], random)) {
      ++killed[kVictimNames[static_cast<int>(deck[card])]];
      ++kills;
    }
    deck.erase(deck.begin() + static_cast<std::ptrdiff_t>(card));
  }
  watcher.join();
  std::string kills;
  for (const auto& [name, count] : killed) kills += fmt::format("{} x {}, ", count, name);
  std::fprintf(stderr, "killed: %s%zu trials heard of\n", kills.c_str(), heard.endings.size());
  EXPECT_EQ(job.state(), v1::JOB_STATE_DONE) << job.DebugString();
  EXPECT_EQ(server->End(SIGTERM), 0);
  CheckBooks(database, job_id, kBudget);
  const auto store = *SqliteStore::OpenReadOnly(database);
  EXPECT_GE(heard.endings.size(), static_cast<size_t>(kBudget));
  for (const auto& [trial, ending] : heard.endings) {
    EXPECT_EQ(TrialStateName(store->GetTrial(trial)->state), ending)
        << "what was said of trial " << trial << " is not in the database";
  }
}

}  // namespace
}  // namespace lathe
