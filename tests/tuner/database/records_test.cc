// Records: `best` against its definition, export and import.
#include <random>
#include <sstream>

#include "store_testing.h"
#include "support/random.h"
#include "tuner/database/records_json.h"

namespace lathe {
namespace {

using testing::HasSubstr;
using S = TrialState;

// The definition, recomputed from all records: OK before NOISY, then the smaller median, then the older record.
std::map<TuningKey, int64_t> BestByDefinition(Store& store) {
  std::map<TuningKey, std::tuple<bool, double, int64_t>> best;
  const std::vector<TuningRecord> records = *store.ListRecords({0, 1'000'000});
  for (const TuningRecord& record : records) {
    if (record.status != S::kOk && record.status != S::kNoisy) continue;
    const std::tuple rank(record.status != S::kOk, record.timings->median_ns, record.id);
    const auto [entry, added] = best.try_emplace(record.key, rank);
    if (!added) entry->second = std::min(entry->second, rank);
  }
  std::map<TuningKey, int64_t> ids;
  for (const auto& [key, rank] : best) ids[key] = std::get<2>(rank);
  return ids;
}

std::unique_ptr<Store> RandomStore(Random& random, int trials) {
  std::unique_ptr<Store> store = *SqliteStore::OpenInMemory();
  Scene scene(*store);
  for (int n = 0; n < trials; ++n) {
    static constexpr S kOutcomes[] = {S::kOk, S::kOk, S::kNoisy, S::kCensored, S::kCrash, S::kWrongResult};
    scene.Measure(n, 1 + static_cast<double>(random.Below(30)), kOutcomes[random.Below(6)]);
  }
  return store;
}

TEST(Best, AgreesWithItsDefinitionAfterAnyHistory) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  for (int round = 0; round < 20; ++round) {
    auto store = RandomStore(random, 1 + static_cast<int>(random.Below(25)));
    std::vector<TuningRecord> foreign = *store->ListRecords({0, 1000});
    for (TuningRecord& record : foreign) {  // Another database's records under other versions and other luck.
      record.result_key = Sha256(fmt::format("{} {}", round, record.id));
      record.key.codegen_version.revision = static_cast<int32_t>(random.Below(3));
      if (record.timings.has_value()) record.timings = MakeTimings(1 + static_cast<double>(random.Below(30)));
    }
    ASSERT_TRUE(store->ImportRecords(foreign).ok());
    const auto expected = BestByDefinition(*store);
    for (const auto& [key, id] : expected) {
      const BestAnswer answer = (*store->QueryBest(std::vector{key}))[0];
      EXPECT_EQ(answer.lookup, Lookup::kHit);
      EXPECT_EQ(answer.record->id, id);
    }
    EXPECT_EQ(store->Stats()->best, static_cast<int64_t>(expected.size()));
  }
}

TEST(RecordsJson, ComesBackAsItWentOut) {
  Random random(7);
  auto from = RandomStore(random, 12);
  std::stringstream lines;
  const auto exported = ExportRecords(*from, lines);
  EXPECT_EQ(exported->workloads, 1);
  auto to = *SqliteStore::OpenInMemory();
  const auto imported = ImportRecords(*to, lines);
  ASSERT_TRUE(imported.ok()) << imported.status().ToString();
  EXPECT_EQ(imported->new_records, exported->records);
  const auto before = *from->ListRecords({0, 1000}), after = *to->ListRecords({0, 1000});
  ASSERT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    TuningRecord expected = before[i];
    expected.trial_id.reset();
    EXPECT_EQ(after[i], expected);
  }
  EXPECT_EQ(to->GetWorkload(MakeWorkload().digest)->text, "text 0");
  EXPECT_EQ((*to->QueryBest(std::vector{MakeKey()}))[0].record->trace_json,
            (*from->QueryBest(std::vector{MakeKey()}))[0].record->trace_json);
}

TEST(RecordsJson, MergesTheSameFileOnce) {
  Random random(8);
  auto from = RandomStore(random, 5);
  std::stringstream lines;
  const int64_t records = ExportRecords(*from, lines)->records;
  auto to = *SqliteStore::OpenInMemory();
  for (const int64_t added : {records, int64_t{0}}) {
    std::istringstream in(lines.str());
    EXPECT_EQ(ImportRecords(*to, in)->new_records, added);
  }
  std::istringstream in(lines.str());
  EXPECT_EQ(ImportRecords(*from, in)->new_records, 0) << "its own export";
}

TEST(RecordsJson, KeepsEqualTrialsOfTwoDatabasesApart) {  // Same ids, same module: only the stores differ.
  auto a = *SqliteStore::OpenInMemory(), b = *SqliteStore::OpenInMemory();
  Scene(*a).Measure(1, 100);
  Scene(*b).Measure(1, 90);
  std::stringstream lines;
  ASSERT_TRUE(ExportRecords(*b, lines).ok());
  EXPECT_EQ(ImportRecords(*a, lines)->new_records, 1);
  EXPECT_EQ((*a->QueryBest(std::vector{MakeKey()}))[0].record->timings->median_ns, 90);
}

struct BadLineCase {
  const char* name;
  std::string from, to, message;
};  // `from` in a good file is replaced by `to`.
class BadLineTest : public testing::TestWithParam<BadLineCase> {};
TEST_P(BadLineTest, IsNamedWithItsLine) {
  auto from = *SqliteStore::OpenInMemory();
  Scene(*from).Measure(1, 100);
  std::stringstream lines;
  ASSERT_TRUE(ExportRecords(*from, lines).ok());
  std::string text = lines.str();
  const size_t at = text.find(GetParam().from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, GetParam().from.size(), GetParam().to);
  std::istringstream in(text);
  auto to = *SqliteStore::OpenInMemory();
  const auto imported = ImportRecords(*to, in);
  EXPECT_EQ(imported.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(imported.status().message(), HasSubstr(GetParam().message));
}
INSTANTIATE_TEST_SUITE_P(
    Lines, BadLineTest,
    testing::Values(
        BadLineCase{"OtherFormat", "lathe.records/1", "lathe.records/2",
                    "line 1: format \"lathe.records/2\", lathe.records/1 required"},
        BadLineCase{"NoJson", "{\"kind\":\"workload\"", "{\"kind\"", "line 2: not a JSON object"},
        BadLineCase{"UnknownKind", "\"kind\":\"record\"", "\"kind\":\"recipe\"", "line 3: kind \"recipe\""},
        BadLineCase{"MissingField", "\"device_class\"", "\"device_klass\"",
                    "line 3: field \"device_class\": a string required"},
        BadLineCase{"WrongType", "\"policy\":7", "\"policy\":\"seven\"", "field \"policy\": an integer required"},
        BadLineCase{"WrongStatus", "\"status\":\"OK\"", "\"status\":\"FINE\"",
                    "field \"status\": the name of a terminal trial state required"},
        BadLineCase{"StatusWithoutRecord", "\"status\":\"OK\"", "\"status\":\"CANCELLED\"",
                    "status CANCELLED makes no record"},
        BadLineCase{"ShortDigest", "\"result_key\":\"", "\"result_key\":\"00", "field \"result_key\": parse digest"},
        BadLineCase{"NegativeMedian", "\"median\":100.0", "\"median\":-1", "timings min"}),
    [](const auto& info) { return info.param.name; });

TEST(RecordsJson, SurvivesAnyDamage) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  auto from = RandomStore(random, 3);
  std::stringstream lines;
  ASSERT_TRUE(ExportRecords(*from, lines).ok());
  auto to = *SqliteStore::OpenInMemory();
  for (int round = 0; round < 400; ++round) {
    std::string text = lines.str();
    for (uint64_t edits = 1 + random.Below(4); edits > 0; --edits)
      text[random.Below(text.size())] = static_cast<char>(random.Next());
    if (round % 4 == 0) text.resize(random.Below(text.size()));
    std::istringstream in(text);
    (void)ImportRecords(*to, in);  // Any Status; no crash.
  }
}

TEST(RecordsJson, CarriesACompilersWordsOfAnyBytes) {
  auto store = *SqliteStore::OpenInMemory();
  Scene scene(*store);
  const int64_t id = scene.Propose(1);
  const int64_t attempt = (**store->ClaimForBuild("w", 0, {})).attempt;
  ASSERT_TRUE(
      store->CommitBuild({id, attempt, BuildFailure{S::kBuildError, "bad \xff\xfe bytes"}, ""}, S::kBuilt).ok());
  std::stringstream lines;
  ASSERT_TRUE(ExportRecords(*store, lines).ok());
  auto to = *SqliteStore::OpenInMemory();
  EXPECT_EQ(ImportRecords(*to, lines)->new_records, 1);
}

}  // namespace
}  // namespace lathe
