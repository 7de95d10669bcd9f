// The worker's decisions, and its threads against a coordinator that is a list in memory.
#include "tuner/worker/worker.h"

#include <gmock/gmock.h>

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "support/random.h"
#include "tuner/worker/worker_core.h"

namespace lathe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const TimePoint kStart{std::chrono::hours(1)};
const std::string kDigest(32, 'w');

v1::BuildTask TaskFor(int64_t trial, int32_t attempt = 1) {
  v1::BuildTask task;
  task.set_trial_id(trial);
  task.set_attempt(attempt);
  task.set_workload(kDigest);
  task.set_trace_json("trace " + std::to_string(trial));
  task.set_time_limit_ns(Duration(std::chrono::seconds(30)).count());
  return task;
}

v1::SynchronizeResponse Desire(std::vector<int64_t> trials, uint64_t sequence, bool with_text = true) {
  v1::SynchronizeResponse response;
  for (const int64_t trial : trials) *response.add_desired() = TaskFor(trial);
  if (with_text) {
    v1::WorkloadText& text = *response.add_workloads();
    text.set_digest(kDigest);
    text.set_text("the function");
  }
  response.set_sequence(sequence);
  return response;
}

v1::BuildState Artifact() {
  v1::BuildState state;
  state.mutable_artifact()->set_size(10);
  return state;
}

TEST(WorkerCore, BuildsInTheOrderOfArrivalAndRepeatsWhatIsFinished) {
  WorkerCore core({});
  (void)core.Declare({});
  EXPECT_THAT(core.Accept(Desire({7, 8}, 1), kStart), IsEmpty());
  const auto first = core.TakeTask(0, kStart);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->task.trial_id(), 7);
  EXPECT_EQ(first->workload_text, "the function");
  EXPECT_EQ(core.TakeTask(1, kStart)->task.trial_id(), 8);
  EXPECT_FALSE(core.TakeTask(2, kStart).has_value());
  EXPECT_TRUE(core.Finish(0, Artifact(), kStart + std::chrono::seconds(2)));
  for (int again = 0; again < 2; ++again) {
    const v1::SynchronizeRequest request = core.Declare({});
    ASSERT_THAT(request.tasks(), SizeIs(2));
    EXPECT_TRUE(request.tasks(0).has_artifact());
    EXPECT_EQ(request.tasks(0).times().total_ns(), 2'000'000'000);
    EXPECT_TRUE(request.tasks(1).is_building());
  }
  (void)core.Accept(Desire({8}, 3), kStart);  // 7 has been taken.
  EXPECT_THAT(core.Declare({}).tasks(), SizeIs(1));
}

TEST(WorkerCore, GivesUpWhatIsNotDesiredAnyMore) {
  WorkerCore core({});
  (void)core.Declare({});
  (void)core.Accept(Desire({7}, 1), kStart);
  (void)core.TakeTask(3, kStart);
  EXPECT_TRUE(core.IsWanted(3));
  (void)core.Declare({});
  EXPECT_THAT(core.Accept(Desire({}, 2), kStart), ElementsAre(3));
  EXPECT_FALSE(core.IsWanted(3));
  EXPECT_FALSE(core.Finish(3, Artifact(), kStart)) << "nobody wants it";
  EXPECT_TRUE(core.is_idle());
}

TEST(WorkerCore, HasNothingWhereAnotherProcessHasTakenItsName) {
  WorkerCore core({});
  (void)core.Declare({});
  (void)core.Accept(Desire({7, 8}, 1), kStart);
  (void)core.TakeTask(3, kStart);
  EXPECT_THAT(core.Replaced(), ElementsAre(3));
  EXPECT_TRUE(core.is_idle());
  EXPECT_THAT(core.Declare({}).tasks(), IsEmpty());
}

TEST(WorkerCore, IgnoresAnAnswerThatWasOvertaken) {
  WorkerCore core({});
  (void)core.Declare({});
  (void)core.Declare({});
  (void)core.Accept(Desire({}, 2), kStart);
  (void)core.Accept(Desire({7}, 1), kStart);
  EXPECT_TRUE(core.is_idle());
}

TEST(WorkerCore, DoesNotDeclareATaskWhoseTextItLacks) {
  WorkerCore core({});
  (void)core.Declare({});
  (void)core.Accept(Desire({7}, 1, /*with_text=*/false), kStart);
  EXPECT_THAT(core.Declare({}).tasks(), IsEmpty());
  (void)core.Accept(Desire({7}, 2), kStart);
  EXPECT_THAT(core.Declare({}).tasks(), SizeIs(1));
  EXPECT_THAT(core.Declare({}).known_workloads(), ElementsAre(kDigest));
}

// Desires a list of trials, one slot's worth and one more at a time, until each is finished.
class ListChannel : public WorkerChannel {
 public:
  ListChannel(int64_t trials, uint64_t seed) : trials_(trials), random_(seed) {}

  StatusOr<v1::SynchronizeResponse> Synchronize(const v1::SynchronizeRequest& request) override {
    std::unique_lock lock(mutex_);
    if (random_.Below(8) == 0) return Status(Unavailable("the wire broke"));
    const uint64_t call = ++calls_;
    changed_.notify_all();
    if (request.sequence() >= heard_) {
      heard_ = request.sequence();
      for (const v1::BuildState& state : request.tasks()) {
        if (state.has_artifact() || state.has_failure()) finished.emplace(state.trial_id(), state);
      }
    }
    const auto is_news = [&] { return calls_ > call || Wanted() != last_told_; };
    if (request.wait_ns() > 0) changed_.wait_for(lock, Duration(request.wait_ns()), is_news);
    last_told_ = Wanted();
    changed_.notify_all();
    v1::SynchronizeResponse response = Desire({last_told_.begin(), last_told_.end()}, heard_);
    response.set_sequence(heard_);
    return response;
  }
  Status StoreArtifact(const Digest& digest, const std::string& content) override {
    std::lock_guard lock(mutex_);
    EXPECT_EQ(Sha256(content), digest);
    if (!std::exchange(was_away_, true)) return Unavailable("the server is being started");
    stored.insert(content);
    return OkStatus();
  }
  void WaitForAll() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return static_cast<int64_t>(finished.size()) == trials_; });
  }

  std::map<int64_t, v1::BuildState> finished;
  std::set<std::string> stored;

 private:
  std::set<int64_t> Wanted() const {
    std::set<int64_t> wanted;
    for (int64_t trial = 1; trial <= trials_ && wanted.size() < 3; ++trial) {
      if (!finished.contains(trial)) wanted.insert(trial);
    }
    return wanted;
  }
  const int64_t trials_;
  Random random_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t calls_ = 0, heard_ = 0;
  std::set<int64_t> last_told_;
  bool was_away_ = false;
};

// Makes a module of the trace's text; every fifth is refused, every seventh breaks the builder once.
class TextBuilder : public Builder {
 public:
  explicit TextBuilder(std::shared_ptr<std::set<std::string>> broke) : broke_(std::move(broke)) {}
  BuildOutcome Build(const BuildRequest& request) override {
    const int trial = std::stoi(request.trace_json.substr(6));
    if (trial % 5 == 0) return BuildFailed{BuildFailed::Kind::kCandidate, "split \"i\": factors cover 96"};
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    if (trial % 7 == 0 && broke_->insert(request.trace_json).second)
      return BuildFailed{BuildFailed::Kind::kBroken, "the builder is gone"};
    return BuiltModule{.bytes = "module of " + request.trace_json};
  }
  void Cancel() override {}
  void SetPaused(bool) override {}

 private:
  std::shared_ptr<std::set<std::string>> broke_;
};

TEST(Worker, HandsInEveryBuildOnceThoughCallsFailAndBuildersBreak) {
  const uint64_t seed = testing::UnitTest::GetInstance()->random_seed() + 1;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  constexpr int64_t kTrials = 60;
  ListChannel channel(kTrials, seed);
  const auto broke = std::make_shared<std::set<std::string>>();
  Worker worker({.name = "w",
                 .slots = 2,
                 .builders = [broke]() -> StatusOr<std::unique_ptr<Builder>> {
                   return std::unique_ptr<Builder>(std::make_unique<TextBuilder>(broke));
                 },
                 .wait = std::chrono::milliseconds(20)},
                channel);
  channel.WaitForAll();
  for (const auto& [trial, state] : channel.finished) {
    if (trial % 5 == 0) {
      EXPECT_EQ(state.failure().error_class(), v1::BUILD_ERROR_CLASS_CANDIDATE) << trial;
      EXPECT_THAT(state.failure().message(), HasSubstr("factors cover 96"));
    } else {
      ASSERT_TRUE(state.has_artifact()) << trial << ": " << state.failure().message();
      EXPECT_TRUE(channel.stored.contains("module of trace " + std::to_string(trial)));
    }
  }
}

// Builds until it is cancelled.
class EndlessBuilder : public Builder {
 public:
  explicit EndlessBuilder(std::promise<void>& began) : began_(began) {}
  BuildOutcome Build(const BuildRequest&) override {
    began_.set_value();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_cancelled_; });
    return BuildFailed{BuildFailed::Kind::kBroken, "given up"};
  }
  void Cancel() override {
    std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    changed_.notify_all();
  }
  void SetPaused(bool) override {}

 private:
  std::promise<void>& began_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_cancelled_ = false;
};

TEST(Worker, EndsInTheMiddleOfABuild) {
  ListChannel channel(1, 1);
  std::promise<void> began;
  {
    Worker worker({.name = "w",
                   .slots = 1,
                   .builders = [&]() -> StatusOr<std::unique_ptr<Builder>> {
                     return std::unique_ptr<Builder>(std::make_unique<EndlessBuilder>(began));
                   },
                   .wait = std::chrono::milliseconds(20)},
                  channel);
    began.get_future().wait();
  }
  EXPECT_THAT(channel.finished, IsEmpty());
}

}  // namespace
}  // namespace lathe
