#include "tuner/database/pack.h"

#include <fstream>

#include "store_testing.h"
#include "support/random.h"
#include "tests/property_runs.h"
#include "tuner/database/records_json.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<std::string> kTargets{MakeKey().target};

class PackTest : public testing::Test {
 protected:
  // What a pack of these workloads holds.
  static Pack PackOf(SqliteStore& store, std::initializer_list<int> workloads) {
    Pack pack;
    for (const int n : workloads) {
      const auto chosen = ChooseForPack(*store.ListBest(MakeKey(n).workload), kTargets);
      pack.workloads.push_back(*store.GetWorkload(MakeKey(n).workload));
      pack.records.insert(pack.records.end(), chosen.begin(), chosen.end());
    }
    return pack;
  }
  std::string File(const std::string& text) {
    std::ofstream(folder_ / "best.pack", std::ios::binary) << text;
    return folder_ / "best.pack";
  }

  FakeClock clock_{kNow};
  TemporaryFolder folder_;
  std::unique_ptr<SqliteStore> store_ = *SqliteStore::OpenInMemory(clock_);
};

TEST_F(PackTest, AnswersAsTheDatabaseThatItIsFrom) {
  Scene scene(*store_), second(*store_, 1, "request-2");
  scene.Measure(1, 100);
  scene.Measure(2, 50);
  second.epoch = scene.epoch;  // One device.
  second.Measure(3, 70);
  const auto packed = OpenSchedules(File(WritePack(PackOf(*store_, {0, 1}))));
  ASSERT_TRUE(packed.ok()) << packed.status().ToString();
  const std::vector<TuningKey> keys{MakeKey(0), MakeKey(1), MakeKey(2)};
  const std::vector<BestAnswer> there = *(*packed)->QueryBest(keys), here = *store_->QueryBest(keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(there[i].lookup, here[i].lookup);
    if (!here[i].record) continue;
    EXPECT_EQ(there[i].record->result_key, here[i].record->result_key);
    EXPECT_EQ(there[i].record->trace_json, here[i].record->trace_json);
    EXPECT_EQ(there[i].record->timings, here[i].record->timings);
  }
  EXPECT_EQ((*packed)->Stats()->records, 2) << "the best of each key, no more";
}

TEST_F(PackTest, IsTheSameBytesForTheSameSchedules) {
  Scene scene(*store_), second(*store_, 1, "request-2");
  scene.Measure(1, 100);
  second.epoch = scene.epoch;  // One device.
  second.Measure(3, 70);
  const std::string text = WritePack(PackOf(*store_, {0, 1}));
  EXPECT_EQ(WritePack(PackOf(*store_, {1, 0})), text);
  const std::string path = File(text);
  EXPECT_EQ(WritePack(PackOf(**OpenSchedules(path), {0, 1})), text) << "a pack of a pack";
}

TEST_F(PackTest, TakesTheNewestVersionsOfEachKindOfDeviceForTheTargets) {
  TuningRecord record{.key = MakeKey(), .timings = MakeTimings(10)};
  std::vector<TuningRecord> best(5, record);
  best[1].key.codegen_version = {19, 2};  // Older: left out.
  best[2].key.device_class = "rpi5";      // Of another device:
  best[2].key.codegen_version = {19, 2};  // its newest.
  best[3].key.target = "llvm -mcpu=znver4";
  best[4].key.cache_regime = "cold";
  best[4].timings.reset();
  const std::vector<TuningRecord> chosen = ChooseForPack(best, kTargets);
  ASSERT_THAT(chosen, SizeIs(2));
  EXPECT_EQ(chosen[0].key, MakeKey());
  EXPECT_EQ(chosen[1].key.device_class, "rpi5");
  EXPECT_THAT(chosen[0].timings->samples_ns, IsEmpty());
}

TEST_F(PackTest, RefusesWhatIsNotWhole) {
  Scene scene(*store_);
  scene.Measure(1, 100);
  const std::string whole = WritePack(PackOf(*store_, {0}));
  ASSERT_TRUE(ReadPack(whole).ok());
  for (const size_t length : {whole.size() - 1, whole.size() / 2, size_t{40}, size_t{0}})
    EXPECT_FALSE(ReadPack(whole.substr(0, length)).ok()) << length;
  EXPECT_THAT(ReadPack(whole.substr(0, whole.size() / 2)).status().message(), HasSubstr("its last line is missing"));
  std::string changed = whole;
  changed[changed.find("\"median\":100") + 9] = '2';
  EXPECT_THAT(ReadPack(changed).status().message(), HasSubstr("it was changed; pack again, or fetch it again"));
  std::string newer = whole;
  newer.replace(newer.find("lathe.pack/1"), 12, "lathe.pack/2");
  EXPECT_THAT(OpenSchedules(File(newer)).status().message(),
              HasSubstr("best.pack: format \"lathe.pack/2\", lathe.pack/1 required; pack again with this version, or "
                        "upgrade"));
  EXPECT_EQ(OpenSchedules(folder_ / "none.pack").code(), StatusCode::kNotFound);
}

struct WrongPack {
  const char* name;
  std::string lines;
  const char* words;
};
class WrongPackTest : public testing::TestWithParam<WrongPack> {};
TEST_P(WrongPackTest, IsNamedByItsLine) {
  EXPECT_THAT(ReadPack(SealPack(GetParam().lines)).status().message(), HasSubstr(GetParam().words));
}
TuningRecord PackedRecord() {
  TuningRecord record{.result_key = Sha256("r"), .key = MakeKey(), .trace_json = "[]", .timings = MakeTimings(10)};
  record.trace_digest = Sha256(record.trace_json);
  return record;
}
TuningRecord Untimed() {
  TuningRecord record = PackedRecord();
  record.timings.reset();
  record.status = TrialState::kCrash;
  return record;
}
INSTANTIATE_TEST_SUITE_P(Kinds, WrongPackTest,
                         testing::Values(WrongPack{"NoWorkload", RecordLineOf(PackedRecord()),
                                                   "line 2: its workload has no line before it"},
                                         WrongPack{"Twice", WorkloadLine(MakeWorkload()) + WorkloadLine(MakeWorkload()),
                                                   "line 3: its workload is there twice"},
                                         WrongPack{"KeyTwice",
                                                   WorkloadLine(MakeWorkload()) + RecordLineOf(PackedRecord()) +
                                                       RecordLineOf(PackedRecord()),
                                                   "line 4: its key is there twice"},
                                         WrongPack{"NoTime", WorkloadLine(MakeWorkload()) + RecordLineOf(Untimed()),
                                                   "line 3: it has no time that counts"},
                                         WrongPack{"NoJson", "[]\n", "line 2: not a JSON object"},
                                         WrongPack{"NoKind", "{\"kind\":\"end\"}\n", "line 2: kind \"end\""}),
                         [](const auto& info) { return info.param.name; });

// Whatever the bytes are, reading ends with a pack or an error.
TEST_F(PackTest, ReadsDamageWithoutCrashing) {
  Scene scene(*store_);
  scene.Measure(1, 100);
  const std::string whole = WritePack(PackOf(*store_, {0}));
  const size_t first = whole.find('\n') + 1, last = whole.rfind('\n', whole.size() - 2) + 1;
  const auto [seed, count] = SeedsToTry(500);
  for (uint64_t n = seed; n < seed + count; ++n) {
    SCOPED_TRACE(fmt::format("LATHE_SEED={}", n));
    const SeedOnCrash at_work(n);
    Random random(n);
    std::string lines = whole.substr(first, last - first);
    for (int i = 0; i < 3; ++i) lines[random.Below(lines.size())] = static_cast<char>(random.Next());
    const StatusOr<Pack> pack = ReadPack(SealPack(lines));
    EXPECT_TRUE(!pack.ok() || ReadPack(WritePack(*pack)).ok());
  }
}

}  // namespace
}  // namespace lathe
