// Verbs that read: what they print, as text and as JSON, and their exit codes.
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/sqlite.h"
#include "tests/cli/cli_testing.h"

namespace lathe {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ReadVerbsTest : public DatabaseFileTest {};

TEST_F(ReadVerbsTest, JobsListsAllJobs) {
  Fill();
  const VerbRun run = Verb({"jobs"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            "JOB  STATE   CREATED (UTC)        NAME  SPACE  DETAIL\n"
            "  1  QUEUED  2023-11-14 22:13:20  net   rules  waits: nobody serves this database; `lathe up` or the same "
            "`lathe "
            "tune` goes on\n");
  const json document = json::parse(Verb({"jobs", "--json"}).out);
  EXPECT_EQ(document["jobs"][0]["name"], "net");
  EXPECT_EQ(document["jobs"][0]["state"], "QUEUED");
  EXPECT_EQ(document["jobs"][0]["created_unix_ns"], kNow);
}

TEST_F(ReadVerbsTest, JobsShowsOneJobWithItsTasks) {
  Fill();
  const VerbRun run = Verb({"jobs", "1"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            "job 1  net  QUEUED: waits: nobody serves this database; `lathe up` or the same `lathe tune` goes on  "
            "(space rules)\n"
            "TASK  STATE   CALLS  TRIALS  OPEN  FAILED     BEST  WORKLOAD\n"
            "conv  QUEUED      2    5/64     0       3  23.1 us  " +
                MakeWorkload().digest.ToHex().substr(0, 12) + "\n");
  const json job = json::parse(Verb({"jobs", "1", "--json"}).out);
  const json& task = job["tasks"][0];
  EXPECT_EQ(task["workload"], MakeWorkload().digest.ToHex());
  EXPECT_EQ(task["best_ns"], 23100);
  EXPECT_EQ(task["trials_known"], 5);
  EXPECT_EQ(task["counts"], (json{{"OK", 2}, {"CRASH", 2}, {"BUILD_ERROR", 1}}));
}

TEST_F(ReadVerbsTest, TrialsListsWhatWasTried) {
  Fill();
  const VerbRun run = Verb({"trials", "1"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            "TRIAL  TASK  STATE         MEDIAN  ATTEMPT  WORDS\n"
            "    1     1  OK           23.1 us        2\n"
            "    2     1  OK           45.0 us        2\n"
            "    3     1  CRASH              -        2  signal 11 at loop 7\n"
            "    4     1  CRASH              -        2  signal 11 at loop 12\n"
            "    5     1  BUILD_ERROR        -        1  register tile spills\n");
}

TEST_F(ReadVerbsTest, TrialsGroupsFailuresByReason) {
  Fill();
  const VerbRun run = Verb({"trials", "1", "--failed"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out,
            "2 x CRASH (trials 3, 4)\n"
            "    signal 11 at loop 7\n"
            "1 x BUILD_ERROR (trials 5)\n"
            "    register tile spills\n"
            "    at block C\n");
  const json document = json::parse(Verb({"trials", "1", "--failed", "--json"}).out);
  EXPECT_EQ(document["trials"].size(), 3u);
  EXPECT_EQ(document["failures"][0],
            (json{{"state", "CRASH"}, {"count", 2}, {"error", "signal 11 at loop 7"}, {"trials", {3, 4}}}));
}

TEST_F(ReadVerbsTest, DevicesSaysWhoIsLost) {
  Fill();
  const VerbRun run = Verb({"devices"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("rpi4-01  rpi4  LOST           job")) << "nobody has checked it";
  const json document = json::parse(Verb({"devices", "--json"}).out);
  EXPECT_EQ(document["devices"][0]["name"], "rpi4-01");
  EXPECT_EQ(document["devices"][0]["lease_holder"], "job");
  EXPECT_EQ(json::parse(Verb({"devices", "--key", "h100", "--json"}).out)["devices"].size(), 0u);
}

TEST_F(ReadVerbsTest, ShowFindsAWorkloadByItsHash) {
  Fill();
  const std::string hash = MakeWorkload().digest.ToHex();
  const VerbRun run = Verb({"show", hash.substr(0, 12)});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("# matmul_0  " + hash + "\ntext 0\n"));
  EXPECT_THAT(run.out, HasSubstr("# rpi4    23.1 us  OK      19.3     llvm -mcpu=cortex-a72 -num-cores=4"));
  const json document = json::parse(Verb({"show", hash, "--json"}).out);
  EXPECT_EQ(document["workloads"][0]["weight"], 1);
  EXPECT_EQ(document["workloads"][0]["best"][0]["median_ns"], 23100);
  EXPECT_EQ(document["workloads"][0]["best"][0]["trace"], MakeTrial(1).trace_json);
}

TEST_F(ReadVerbsTest, ShowReadsAFileWithoutADatabase) {
  const std::string file = folder / "twice.py";
  std::ofstream(file) << "@T.prim_func\ndef twice(A: T.Buffer((8,), \"float32\")):\n    for i in range(8):\n        "
                         "A[i] = A[i] * T.float32(2)\n";
  const VerbRun run = Verb({"show", file});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("def twice("));
  EXPECT_THAT(run.out, HasSubstr("\n# no schedule is known"));
  std::ofstream(file) << "def twice(:\n";
  const VerbRun broken = Verb({"show", file});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("twice.py:1:"));
}

TEST_F(ReadVerbsTest, WatchEndsWithTheJob) {
  Fill();
  {
    const auto store = *SqliteStore::Open(path);
    ASSERT_TRUE(store->SetJobState(job_id, JobState::kFailed, "every candidate failed").ok());
  }
  const VerbRun run = Verb({"watch", "1"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out, HasSubstr("job 1  net  FAILED: every candidate failed  (space rules)\n"));
  EXPECT_THAT(run.err, HasSubstr("5 trials done, 0 open"));
  const VerbRun lines = Verb({"watch", "1", "--json"});
  const json update = json::parse(lines.out.substr(0, lines.out.find('\n')));
  EXPECT_EQ(update["job"]["state"], "FAILED");
  EXPECT_EQ(update["events"].size(), 8u);
  const std::string cursor = std::to_string(update["cursor"].get<int64_t>());
  EXPECT_EQ(json::parse(Verb({"watch", "1", "--json", "--after", cursor}).out)["events"].size(), 0u);
}

struct BadUse {
  const char* name;
  std::vector<std::string> arguments;
  int code;
  const char* message;
};
class BadUseTest : public DatabaseFileTest, public testing::WithParamInterface<BadUse> {};

TEST_P(BadUseTest, SaysWhatIsWrongWithItsExitCode) {
  Fill();
  const VerbRun run = Verb(GetParam().arguments);
  EXPECT_EQ(run.code, GetParam().code) << run.err;
  EXPECT_THAT(run.err, HasSubstr(GetParam().message));
  EXPECT_EQ(run.out, "");
}
INSTANTIATE_TEST_SUITE_P(
    Verbs, BadUseTest,
    testing::Values(
        BadUse{"UnknownJob", {"jobs", "77"}, 3, "77"}, BadUse{"UnknownJobWatched", {"watch", "77"}, 3, "77"},
        BadUse{"UnknownJobTrials", {"trials", "77"}, 3, "77"}, BadUse{"UnknownJobCancelled", {"cancel", "77"}, 3, "77"},
        BadUse{"UnknownHash", {"show", "0123456789"}, 3, "workload 0123456789: none with that hash"},
        BadUse{"NoSuchFile", {"show", "nothing.py"}, 3, "read nothing.py: no such file"},
        BadUse{"NegativeJob", {"jobs", "-3"}, 2, "-3"}, BadUse{"UnknownFlag", {"jobs", "--bogus"}, 2, "--bogus"},
        BadUse{"ZerothJob", {"jobs", "0"}, 2, "\"0\": a whole number of 1 or more required"},
        BadUse{"TooManySlots", {"tune", "x.py", "--slots", "100000"}, 2, "a whole number from 1 to 1024 required"},
        BadUse{"AFolder", {"show", "/"}, 2, "read /: it is a folder; name a file"},
        BadUse{"UnknownVerb", {"frobnicate"}, 2, "no verb \"frobnicate\"; `lathe --help` lists them"},
        BadUse{"MissingJob", {"trials"}, 2, "JOB is required"}),
    [](const auto& info) { return info.param.name; });

TEST_F(ReadVerbsTest, SayThatAFolderIsNoDatabase) {
  const VerbRun run = RunVerb({"best", "--db", "/"});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("open /: it is a folder; name a file"));
}

TEST_F(ReadVerbsTest, SayThatThereIsNoDatabaseYet) {
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"jobs"}, {"devices"}, {"trials", "1"}, {"cancel", "1"}, {"show", "0123456789"}}) {
    const VerbRun run = Verb(verb);
    EXPECT_EQ(run.code, 3) << verb[0];
    EXPECT_THAT(run.err, HasSubstr(path + ": no database there yet")) << verb[0];
  }
}

TEST_F(ReadVerbsTest, RefuseANewerSchema) {
  Fill();
  {
    auto connection = sqlite::Connection::Open(path, sqlite::Connection::Mode::kReadWrite);
    ASSERT_TRUE(connection.ok()) << connection.status().ToString();
    ASSERT_TRUE((*connection)->Execute("PRAGMA user_version = 99").ok());
  }
  const VerbRun run = Verb({"jobs"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("schema version 99"));
}

TEST_F(ReadVerbsTest, WorkBesideTheOwner) {
  Fill();
  const auto owner = *SqliteStore::Open(path);
  EXPECT_EQ(Verb({"jobs"}).code, 0);
  const VerbRun cancel = Verb({"cancel", "1"});  // Writes, and the owner does not listen.
  EXPECT_EQ(cancel.code, 4);
  EXPECT_THAT(cancel.err, HasSubstr("lathe.db"));
}

TEST_F(ReadVerbsTest, ModelTrainsOnWhatCanBeReplayedOnly) {
  Fill();
  const std::string out = folder / "model.txt";
  const VerbRun none = Verb({"model", "train", "--out", out});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("train model: of 0 records no two of a workload have times that differ"));
  EXPECT_FALSE(std::ifstream(out).good());
  const VerbRun missing = RunVerb({"model", "train", "--out", out, "--db", folder / "other.db"});
  EXPECT_THAT(missing.err, HasSubstr("no database there yet; --db names another"));
}

TEST_F(ReadVerbsTest, ModelShowsWhereOneComesFrom) {
  const VerbRun built_in = RunVerb({"model", "show"});
  EXPECT_EQ(built_in.code, 0) << built_in.err;
  const VerbRun same = RunVerb({"model", "show", LATHE_SOURCE_DIR "/tuner/cost_model/base_model.txt"});
  EXPECT_THAT(same.out + same.err, testing::AnyOf(HasSubstr(built_in.out), HasSubstr("for features")));
  const std::string path = folder / "model.txt";
  std::ofstream(path) << R"({"lathe_model":2,"features":1})";
  const VerbRun refused = RunVerb({"model", "show", path});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr(path));
  EXPECT_THAT(refused.err, HasSubstr("format 2 for features 1, this build reads format 2 for features"));
}

constexpr const char* kVerbs[] = {"up",     "tune",    "best",   "worker",      "jobs",   "watch", "cancel",
                                  "trials", "explain", "show",   "devices",     "device", "db",    "model",
                                  "doctor", "ca",      "invite", "certificate", "token",  "audit", "asked"};

TEST(Lathe, ListsItsVerbsAndItsVersion) {
  const VerbRun help = RunVerb({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* verb : kVerbs) EXPECT_THAT(help.out, HasSubstr(verb));
  EXPECT_THAT(RunVerb({"--version"}).out,
              testing::MatchesRegex("lathe [0-9.]+ \\(codegen 19\\.[0-9]+, measurement policy [0-9]+\\)\n"));
  EXPECT_EQ(RunVerb({"dance"}).code, 2);
  EXPECT_EQ(RunVerb({}).code, 2);
}

TEST(Lathe, EveryVerbExplainsItself) {
  for (const char* verb : kVerbs) {
    const VerbRun run = RunVerb({verb, "--help"});
    EXPECT_EQ(run.code, 0) << verb;
    EXPECT_THAT(run.out, HasSubstr("lathe " + std::string(verb)));
  }
}

}  // namespace
}  // namespace lathe
