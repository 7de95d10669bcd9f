// The parts of lathe-chaos: what is planned, what a link does to bytes, what a shifted clock says, and that each broken
// promise is found.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <thread>

#include "tests/e2e/chaos/board_watch.h"
#include "tests/e2e/chaos/farm_process.h"
#include "tests/e2e/chaos/fault_proxy.h"
#include "tests/e2e/chaos/history_check.h"
#include "tests/e2e/chaos/plan.h"
#include "tests/e2e/process_tree.h"
#include "tests/support/temporary_folder.h"

namespace lathe::chaos {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- Plans ----------------------------------------------------------------------------------------------------------

TEST(PlanTest, IsAFunctionOfItsSeed) {
  EXPECT_EQ(DrawPlan(7, seconds(600), {}), DrawPlan(7, seconds(600), {}));
  EXPECT_NE(DrawPlan(7, seconds(600), {}), DrawPlan(8, seconds(600), {}));
}

TEST(PlanTest, HasEveryKindOfFaultWithinTenMinutesAndEndsInTime) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::set<FaultKind> kinds;
    Duration last{};
    for (const Fault& fault : DrawPlan(seed, seconds(600), {})) {
      EXPECT_GE(fault.at, last) << "seed " << seed << ": not in order";
      EXPECT_LE(fault.at + fault.lasts, seconds(600)) << "seed " << seed << ": " << fault.ToString();
      last = fault.at;
      kinds.insert(fault.kind);
    }
    EXPECT_EQ(kinds.size(), 17u) << "seed " << seed;
  }
}

TEST(PlanTest, LeavesTheServerAloneWhileItTakesADeadBoardsTrials) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<Fault> plan = DrawPlan(seed, seconds(300), {});
    ASSERT_EQ(plan.front().at, seconds(6));
    for (const Fault& death : plan) {
      if (death.kind != FaultKind::kDeadBoard) continue;
      for (const Fault& fault : plan) {
        const bool is_at_once = fault.at < death.at + death.lasts && death.at < fault.at + fault.lasts;
        EXPECT_FALSE(is_at_once && fault.role == Role::kServer) << "seed " << seed << ": " << fault.ToString();
      }
    }
  }
}

TEST(PlanTest, KillsAllOnlyWhileNothingElseIsDoneToAProcess) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<Fault> plan = DrawPlan(seed, seconds(600), {});
    for (const Fault& all : plan) {
      if (all.kind != FaultKind::kKillAll) continue;
      for (const Fault& fault : plan) {
        const bool is_at_once = fault.at < all.at + all.lasts && all.at < fault.at + fault.lasts;
        EXPECT_FALSE(&fault != &all && is_at_once && fault.kind <= FaultKind::kDeadBoard)
            << "seed " << seed << ": " << fault.ToString();
      }
    }
  }
}

TEST(PlanTest, FillsNoDiskThatIsNotTheFarmsOwn) {
  for (const Fault& fault : DrawPlan(3, seconds(600), {.has_disks = false}))
    EXPECT_NE(fault.kind, FaultKind::kDiskFull) << fault.ToString();
}

// --- Links ----------------------------------------------------------------------------------------------------------

constexpr TimePoint kStart{std::chrono::hours(1)};

TEST(LinkDirectionTest, PassesBytesOnInTheirOrder) {
  LinkDirection link{Random(1)};
  link.Take("one ", kStart);
  link.Take("two", kStart);
  EXPECT_EQ(link.Arrived(kStart), "one ");
  EXPECT_EQ(link.Arrived(kStart), "two");
  EXPECT_EQ(link.Arrived(kStart), "");
  EXPECT_TRUE(link.IsEmpty());
}

TEST(LinkDirectionTest, HoldsBackWhileItIsSilent) {
  LinkDirection link{Random(1)};
  link.Set({.is_silent = true});
  link.Take("late", kStart);
  EXPECT_EQ(link.NextArrival(), std::nullopt);
  EXPECT_EQ(link.Arrived(kStart + seconds(60)), "");
  link.Set({});
  EXPECT_EQ(link.Arrived(kStart + seconds(60)), "late");
}

TEST(LinkDirectionTest, DelaysByOnceToTwiceTheDelayAndNeverOvertakes) {
  LinkDirection link{Random(1)};
  link.Set({.delay = milliseconds(100)});
  std::string arrived;
  for (char c = 'a'; c <= 'z'; ++c) link.Take(std::string(1, c), kStart);
  EXPECT_EQ(link.Arrived(kStart + milliseconds(99)), "");
  for (int i = 0; i < 26; ++i) arrived += link.Arrived(kStart + milliseconds(200));
  EXPECT_EQ(arrived, "abcdefghijklmnopqrstuvwxyz");
}

TEST(LinkDirectionTest, PassesNoMoreThanItsBytesPerSecond) {
  LinkDirection link{Random(1)};
  link.Set({.bytes_per_second = 1000});
  link.Take(std::string(5000, 'x'), kStart);
  size_t arrived = 0;
  for (TimePoint now = kStart; now < kStart + seconds(2); now += milliseconds(10)) arrived += link.Arrived(now).size();
  EXPECT_NEAR(static_cast<double>(arrived), 2000, 100);
}

TEST(LinkDirectionTest, FlipsOneBitOfEachPieceItGarbles) {
  LinkDirection link{Random(1)};
  link.Set({.garbles_one_in = 1});
  link.Take(std::string(100, '\0'), kStart);
  int bits = 0;
  for (const char c : link.Arrived(kStart)) bits += __builtin_popcount(static_cast<unsigned char>(c));
  EXPECT_EQ(bits, 1);
}

TEST(LinkDirectionTest, HasNoRoomForASenderThatIsTooFast) {
  LinkDirection link{Random(1)};
  link.Set({.is_silent = true});
  for (int i = 0; link.HasRoom() && i < 1000; ++i) link.Take(std::string(LinkDirection::kPiece, 'x'), kStart);
  EXPECT_FALSE(link.HasRoom());
}

// --- The proxy ------------------------------------------------------------------------------------------------------

int Dial(const Endpoint& at) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(at.port);
  inet_pton(AF_INET, at.host.c_str(), &address.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0) << at.ToString();
  return fd;
}
// As many bytes, or fewer if it ends before.
std::string Receive(int fd, size_t count) {
  std::string got(count, '\0');
  size_t size = 0;
  for (ssize_t piece; size < count && (piece = recv(fd, got.data() + size, count - size, 0)) > 0;)
    size += static_cast<size_t>(piece);
  return got.substr(0, size);
}

class FaultProxyTest : public testing::Test {
 protected:
  FaultProxyTest() {
    server_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(server_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(server_, 8), 0);
    getsockname(server_, reinterpret_cast<sockaddr*>(&address), &size);
    proxy_->SetUpstream(link_, {.host = "127.0.0.1", .port = ntohs(address.sin_port)});
    Connect();
  }
  ~FaultProxyTest() override {
    for (const int fd : {near_, far_, server_}) close(fd);
  }
  void Connect() {
    near_ = Dial(proxy_->AddressOf(link_));
    far_ = accept4(server_, nullptr, nullptr, SOCK_CLOEXEC);
  }
  static void Say(int fd, const std::string& words) {
    EXPECT_EQ(send(fd, words.data(), words.size(), 0), words.size());
  }

  const std::unique_ptr<FaultProxy> proxy_ = *FaultProxy::Start(1);
  const int link_ = *proxy_->AddLink({.host = "127.0.0.1"});
  int server_ = -1, near_ = -1, far_ = -1;
};

TEST_F(FaultProxyTest, PassesBothWaysAndTheEnd) {
  Say(near_, "up");
  EXPECT_EQ(Receive(far_, 2), "up");
  Say(far_, "down");
  shutdown(far_, SHUT_WR);
  EXPECT_EQ(Receive(near_, 100), "down");
}

TEST_F(FaultProxyTest, HoldsOneWayBackWhileTheOtherPasses) {
  proxy_->SetWeather(link_, Way::kUp, {.is_silent = true});
  Say(near_, "held");
  Say(far_, "passes");
  EXPECT_EQ(Receive(near_, 6), "passes");
  char c;
  EXPECT_EQ(recv(far_, &c, 1, MSG_DONTWAIT), -1);
  proxy_->SetWeather(link_, Way::kUp, {});
  EXPECT_EQ(Receive(far_, 4), "held");
}

TEST_F(FaultProxyTest, ResetsWhatItCuts) {
  proxy_->Cut(link_);
  char c;
  EXPECT_EQ(recv(near_, &c, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
  close(near_);
  close(far_);
  Connect();
  Say(near_, "anew");
  EXPECT_EQ(Receive(far_, 4), "anew");
}

TEST_F(FaultProxyTest, ResetsWhoeverDialsWhileItIsDown) {
  proxy_->SetDown(link_, true);
  const int dialled = Dial(proxy_->AddressOf(link_));
  char c;
  EXPECT_EQ(recv(dialled, &c, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
  close(dialled);
}

TEST_F(FaultProxyTest, TellsNobodyOfWhatIsHalfOpen) {
  Say(near_, "up");
  EXPECT_EQ(Receive(far_, 2), "up");
  proxy_->LeaveHalfOpen(link_);
  shutdown(near_, SHUT_WR);
  const int old_far = far_, old_near = near_;
  Connect();  // By then the proxy has seen the end of the old one, if it looks at it.
  Say(near_, "new");
  EXPECT_EQ(Receive(far_, 3), "new");
  char c;
  EXPECT_EQ(recv(old_far, &c, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
  close(old_far);
  close(old_near);
}

TEST_F(FaultProxyTest, TearsThePieceThatComesNext) {
  proxy_->Tear(link_);
  Say(far_, "12345678");
  EXPECT_EQ(Receive(near_, 8), "1234");
}

// --- The clock ------------------------------------------------------------------------------------------------------

class ClockShimTest : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Seconds, ClockShimTest, testing::Values(0, 600, -86'400), [](const auto& info) {
  return info.param < 0 ? "Back" : info.param > 0 ? "Forward" : "Still";
});

TEST_P(ClockShimTest, ShiftsTheWallClockOfAProcessAndNoOther) {
  const TemporaryFolder folder;
  const int64_t nanos = GetParam() * 1'000'000'000;
  std::ofstream(folder / "shift", std::ios::binary).write(reinterpret_cast<const char*>(&nanos), sizeof(nanos));
  FarmProcess date({"date",
                    {"/bin/date", "+%s"},
                    {"LD_PRELOAD=" LATHE_CLOCK_SHIM, "LATHE_CHAOS_CLOCK=" + folder / "shift"},
                    folder / "out",
                    folder / "log"});
  const int64_t before = std::time(nullptr);
  date.Start();
  ASSERT_EQ(date.Wait(), 0) << TextOf(folder / "log");
  const int64_t said = std::atoll(date.FirstLine().c_str());
  EXPECT_GE(said, before + GetParam());
  EXPECT_LE(said, std::time(nullptr) + GetParam());
  EXPECT_EQ(TextOf(folder / "log"), "");
}

// --- Boards ---------------------------------------------------------------------------------------------------------

// Two processes that compute under the name of one board's runner.
TEST(BoardWatchTest, SeesTwoProcessesThatRunOnOneBoard) {
  const TemporaryFolder folder;
  const std::string runner = folder / "runner";
  std::filesystem::create_symlink("/bin/sh", runner);
  const ProcessPlace place{"runner", {runner, "-c", "while :; do :; done"}, {}, folder / "out", folder / "log"};
  FarmProcess first(place), second(place);
  BoardWatch watch({folder / "other", runner});
  // On a machine that is busy with other things, too.
  const auto wait_until_ran = [](pid_t pid, int64_t nanos) {
    while (ProcessorNanos(pid) < nanos) std::this_thread::yield();
  };
  first.Start();
  wait_until_ran(first.pid(), 50'000'000);
  EXPECT_THAT(watch.Look(0), IsEmpty());
  const int64_t so_far = ProcessorNanos(first.pid());
  second.Start();
  wait_until_ran(second.pid(), 50'000'000);
  wait_until_ran(first.pid(), so_far + 50'000'000);
  const std::vector<BoardSample> seen = watch.Look(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].device, 1);
  EXPECT_THAT(seen[0].ran_ns, ElementsAre(testing::Key(first.pid()), testing::Key(second.pid())));
  EXPECT_THAT(BrokenPromises({.boards = seen}, {}), ElementsAre(HasSubstr("2 trials ran on device 1 at once")));
}

// --- The check ------------------------------------------------------------------------------------------------------

// Of a farm that kept all promises: two trials, one a failed build that spent budget without a record.
struct Kept {
  Kept() {
    history.jobs = {{.name = "a",
                     .id = 1,
                     .budget = 2,
                     .acknowledged_at = 1,
                     .sights = {{2, 0, 0, "RUNNING", {}},
                                {3, 1, 1, "RUNNING", {{5, "trial", 10, "OK"}}},
                                {4, 2, 1, "DONE", {{6, "trial", 11, "INFRA_FAILED"}}}},
                     .ended_at = 4}};
    history.spooled = {{0, 10, 1, true}, {0, 11, 1, false}};
    history.deaths = {{1, 0, 2, 31.5}};
    history.boards = {{2, 0, {{100, 40'000'000}, {101, 3'000'000}}}};
    history.server = {{9, 50, 60, 100 << 20, true}};
    books.records = {{"k10", 10, 1, TrialState::kOk, false}, {"k10late", 10, 0, TrialState::kOk, true}};
    books.trials = {{10, 7, 1, 0, TrialState::kOk}, {11, 7, 1, 0, TrialState::kInfraFailed}};
    books.tasks = {{7, 1, 2, 1}};
  }
  History history;
  Books books;
};

TEST(HistoryCheckTest, AJobMayFailWhoseSearchWasKilledTwice) {
  Kept kept;
  kept.history.jobs[0].sights.back().state = "FAILED";
  kept.history.search_kills = {2, 9};
  EXPECT_THAT(BrokenPromises(kept.history, kept.books), ElementsAre(HasSubstr("job a is FAILED at the end")));
  kept.history.search_kills = {2, 3};
  EXPECT_THAT(BrokenPromises(kept.history, kept.books), IsEmpty());
}

TEST(HistoryCheckTest, FindsNothingWhereAllPromisesWereKept) {
  const Kept kept;
  EXPECT_THAT(BrokenPromises(kept.history, kept.books), IsEmpty());
}

struct BreakCase {
  const char* name;
  void (*plant)(Kept& kept);
  const char* words;
};
class HistoryCheckPlantTest : public testing::TestWithParam<BreakCase> {};

TEST_P(HistoryCheckPlantTest, FindsWhatIsBroken) {
  Kept kept;
  GetParam().plant(kept);
  EXPECT_THAT(BrokenPromises(kept.history, kept.books), testing::Contains(HasSubstr(GetParam().words)));
}
INSTANTIATE_TEST_SUITE_P(
    Plants, HistoryCheckPlantTest,
    testing::Values(
        BreakCase{"LostTrial", [](Kept& k) { k.books.trials.erase(k.books.trials.begin()); },
                  "job a: trial 10, said to be OK, is lost"},
        BreakCase{"OtherEnding", [](Kept& k) { k.books.trials[1].state = TrialState::kCrash; },
                  "trial 11 is CRASH, was said to be INFRA_FAILED"},
        BreakCase{"LostRecord", [](Kept& k) { k.books.records.erase(k.books.records.begin()); },
                  "attempt 1 of trial 10, which device 0 had written down, is lost"},
        BreakCase{"NoRecord", [](Kept& k) { k.books.records[0].is_late = true; },
                  "trial 10, OK, has 0 records that ended it, 1 required"},
        BreakCase{"DoubledRecord", [](Kept& k) { k.books.records.push_back(k.books.records[0]); },
                  "result k10 is recorded twice"},
        BreakCase{"TwoEndings", [](Kept& k) { k.books.records.push_back({"other", 10, 2, TrialState::kOk, false}); },
                  "trial 10, OK, has 2 records that ended it"},
        BreakCase{"OpenTrial", [](Kept& k) { k.books.trials[1].state = TrialState::kBuilding; },
                  "trial 11 of job 1 is BUILDING at the end"},
        BreakCase{"BudgetOverspent", [](Kept& k) { k.books.trials.push_back({12, 7, 1, 0, TrialState::kInfraFailed}); },
                  "task 7 spent 3 trials of 2"},
        BreakCase{"CountedTwice", [](Kept& k) { k.books.tasks[0].measured = 2; },
                  "task 7 has measured 2 candidates and lost 1, of 2"},
        BreakCase{"CounterFell", [](Kept& k) { k.history.jobs[0].sights[2].trials_done = 0; },
                  "job a at 4.0 s: counters fell from 1 and 1 to 0 and 1"},
        BreakCase{"EventTwice", [](Kept& k) { k.history.jobs[0].sights[2].events[0].cursor = 5; },
                  "job a: event 5 came after 5"},
        BreakCase{"TrialEndedTwice", [](Kept& k) { k.history.jobs[0].sights[2].events[0].subject = 10; },
                  "job a: trial 10 ended twice"},
        BreakCase{"CancelForgotten", [](Kept& k) { k.history.jobs[0].cancelled = "CANCELLED"; },
                  "job a is DONE at the end, CANCELLED required"},
        BreakCase{"CancelledOverspent",
                  [](Kept& k) {
                    k.history.jobs[0].cancelled = "CANCELLED";
                    k.books.tasks[0].budget = 1;
                  },
                  "task 7 spent 2 trials of 1"},
        BreakCase{"NotDone", [](Kept& k) { k.history.jobs[0].sights[2].state = "FAILED"; },
                  "job a is FAILED at the end"},
        BreakCase{"NeverSeen", [](Kept& k) { k.history.jobs[0].sights.clear(); }, "job a is never seen at the end"},
        BreakCase{"TooLate", [](Kept& k) { k.history.jobs[0].ended_at = 500; }, "ended 500.0 s after the last fault"},
        BreakCase{"TwoTrialsAtOnce", [](Kept& k) { k.history.boards[0].ran_ns[101] = 30'000'000; },
                  "at 2.00 s 2 trials ran on device 0 at once"},
        BreakCase{"RequeuedLate", [](Kept& k) { k.history.deaths[0].requeued_after = 36; },
                  "device 0 died at 1.0 s with 2 trials, which were its own for 36.0 s, 35 s allowed"},
        BreakCase{"NeverRequeued", [](Kept& k) { k.history.deaths[0].requeued_after.reset(); },
                  "its own for longer than it was away"},
        BreakCase{"Crashed", [](Kept& k) { k.history.ends.push_back({5, "worker0", "signal 11"}); },
                  "at 5.0 s worker0 ended: signal 11"},
        BreakCase{"Surprised", [](Kept& k) { k.history.surprises.push_back("watch: INTERNAL"); }, "watch: INTERNAL"},
        BreakCase{"Orphan", [](Kept& k) { k.history.left_behind.push_back("77 lathe-runner"); },
                  "left behind: 77 lathe-runner"},
        BreakCase{"Descriptors", [](Kept& k) { k.history.server[0].descriptors = 900; },
                  "at rest the server holds 900 descriptors, 200 allowed"},
        BreakCase{"Memory", [](Kept& k) { k.history.server[0].resident_bytes = int64_t{2} << 30; },
                  "at rest the server holds 2048 MiB"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe::chaos
