// Verbs that write: through the owner's socket where it listens, else as owner; and db, whose files must survive.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "compiler/target/target.h"
#include "support/sqlite.h"
#include "tests/cli/cli_testing.h"
#include "tests/tuner/space/workloads.h"
#include "tuner/database/records_json.h"
#include "tuner/service/server.h"
#include "tuner/service/store_core.h"

namespace lathe {
namespace {

using testing::HasSubstr;

class WriteVerbsTest : public DatabaseFileTest {
 protected:
  static std::string Contents(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
};

TEST_F(WriteVerbsTest, CancelEndsAJob) {
  Fill();
  const VerbRun run = Verb({"cancel", "1", "--reason", "wrong model"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err, "lathe: job 1 is CANCELLED: wrong model\n");
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(Verb({"jobs"}).out, HasSubstr("CANCELLED"));
}

TEST_F(WriteVerbsTest, CancelGoesThroughTheOwner) {
  Fill();
  const auto store = *SqliteStore::Open(path);
  StoreCore core(*store);
  CoreApi api(core);
  const auto server = *ServiceServer::Start({.listen = {{.unix_path = path + ".sock"}}}, api);
  const VerbRun run = Verb({"cancel", "1"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(store->GetJob(job_id)->state, JobState::kCancelled);
  // Every verb can name the server instead.
  const VerbRun jobs = RunVerb({"jobs", "--server", "unix:" + path + ".sock"});
  EXPECT_THAT(jobs.out, HasSubstr("CANCELLED")) << jobs.err;
}

TEST_F(WriteVerbsTest, SayThatNobodyAnswers) {
  const VerbRun run = RunVerb({"jobs", "--server", "unix:" + path + ".sock"});
  EXPECT_EQ(run.code, 4);
  EXPECT_THAT(run.err, HasSubstr("nobody answers there; start one with `lathe up`"));
  const VerbRun open = RunVerb({"jobs", "--server", "example.org:80"});
  EXPECT_EQ(open.code, 5);
  EXPECT_THAT(open.err, HasSubstr("a server on another machine wants to know who asks"));
}

TEST_F(WriteVerbsTest, ABaseModelThatCannotBeReadStopsTheVerb) {
  const std::string function = folder / "matmul.py", missing = folder / "none.txt", other = folder / "other.txt";
  std::ofstream(function) << kMatmulRelu;
  std::ofstream(other) << R"({"lathe_model":2,"features":1})";
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"tune", function}, {"up"}}) {
    std::vector<std::string> arguments = verb;
    arguments.insert(arguments.end(), {"--base-model", missing});
    const VerbRun none = Verb(arguments);
    EXPECT_EQ(none.code, 3);
    EXPECT_THAT(none.err, HasSubstr("read " + missing + ": No such file"));
    arguments.back() = other;
    const VerbRun refused = Verb(arguments);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("for features 1, this build reads"));
  }
  EXPECT_FALSE(std::filesystem::exists(path)) << "nothing was begun";
}

TEST_F(WriteVerbsTest, DbExportsAndImportsOnce) {
  Fill();
  const std::string lines = folder / "records.jsonl", other = folder / "new/other.db";
  const VerbRun written = RunVerb({"db", "export", lines, "--db", path});
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(written.err, "lathe: 1 workloads and 5 records written\n");
  EXPECT_FALSE(std::filesystem::exists(lines + ".part"));
  EXPECT_EQ(RunVerb({"db", "import", lines, "--db", other}).err,
            "lathe: 1 workloads and 5 records read, 5 of them new\n");
  EXPECT_EQ(RunVerb({"db", "import", lines, "--db", other}).err,
            "lathe: 1 workloads and 5 records read, 0 of them new\n");
  EXPECT_EQ(RunVerb({"db", "export", "--db", other}).out, Contents(lines));
}

TEST_F(WriteVerbsTest, DbVerifyNamesWhatIsWrongAndDbBackupCopies) {
  Fill();
  const std::string copy = folder / "copy.db";
  EXPECT_EQ(Verb({"db", "verify"}).err, "lathe: " + path + " is whole: 5 records, 5 trials\n");
  const VerbRun copied = Verb({"db", "backup", copy});
  EXPECT_EQ(copied.code, 0) << copied.err;
  EXPECT_EQ(copied.err, "lathe: " + copy + fmt::format(" has {} bytes\n", std::filesystem::file_size(copy)));
  EXPECT_EQ(RunVerb({"best", "--db", copy}).out, Verb({"best"}).out);
  EXPECT_THAT(Verb({"db", "backup", copy}).err, HasSubstr("a database is there"));
  ASSERT_TRUE((*sqlite::Connection::Open(copy, sqlite::Connection::Mode::kReadWrite))
                  ->Execute("UPDATE tuning_key SET measured = 9")
                  .ok());
  const VerbRun wrong = RunVerb({"db", "verify", "--db", copy});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_EQ(wrong.out, "key: number 1: 9 measured traces are counted, it has 5\n");
  EXPECT_THAT(wrong.err, HasSubstr("verify " + copy + ": 1 problems; restore a copy"));
}

TEST_F(WriteVerbsTest, DbPruneSaysWhatWouldGoThenLetsItGo) {
  Fill();
  const VerbRun planned = Verb({"db", "prune", "--dry-run"});
  EXPECT_EQ(planned.code, 0) << planned.err;
  EXPECT_THAT(planned.out, testing::MatchesRegex(path + ": would go: [0-9]+ events, 1 samples of records, 4 blobs\n"))
      << "the job is open, so its attempts stay; its rows are from 2023";
  EXPECT_EQ(Verb({"db", "prune"}).out, path + ": gone" + planned.out.substr((path + ": would go").size()));
  EXPECT_EQ(Verb({"db", "prune"}).out, path + ": gone: nothing\n");
  EXPECT_EQ(Verb({"db", "prune", "--older-than", "0"}).code, 2);
  EXPECT_EQ(RunVerb({"db", "prune", "--db", folder / "none.db"}).code, 3);
  const auto owner = *SqliteStore::Open(path);
  const VerbRun owned = Verb({"db", "prune"});
  EXPECT_EQ(owned.code, 4);
  EXPECT_THAT(owned.err, HasSubstr("prune (a server does it by itself, once an hour): "));
}

// A database with one record of a function, and the function as a file.
class FunctionFileTest : public WriteVerbsTest {
 protected:
  void SetUp() override {
    std::ofstream(function) << kMatmulRelu;
    AddRecord(path, kMatmulRelu, 1000);
  }
  static void AddRecord(const std::string& database, const std::string& text, double median_ns) {
    const auto store = *SqliteStore::Open(database);
    const PrimFunc func = *ParsePrimFunc(text, "test.py");
    TuningRecord record{.result_key = Sha256(fmt::format("{}", median_ns)), .key = MakeKey()};
    record.key.workload = WorkloadDigest(func);
    record.key.target = Target::Parse(kTarget)->ToString();
    record.timings = MakeTimings(median_ns);
    record.trace_json = "[[],[]]";
    record.trace_digest = Sha256(record.trace_json);
    ASSERT_TRUE(store->PutWorkload({record.key.workload, func.name, text}).ok());
    ASSERT_TRUE(store->ImportRecords(std::vector{record}).ok());
  }
  static constexpr char kTarget[] = "llvm -mcpu=x86-64-v3 -num-cores=1";
  const std::string function = folder / "matmul.py";
};

TEST_F(FunctionFileTest, DbPackWritesWhatBestReadsAsADatabase) {
  const std::string pack = folder / "best.pack";
  const VerbRun run = Verb({"db", "pack", function, "--target", kTarget, "-o", pack});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.err,
            "lathe: " + pack + ": 1 of 1 schedules\nnext: lathe compile MODEL.onnx -o MODEL.so --db " + pack + "\n");
  EXPECT_FALSE(std::filesystem::exists(pack + ".part"));
  const std::vector<std::string> best{"best", function, "--target", kTarget, "--json"};
  EXPECT_THAT(Verb(best).out, HasSubstr("\"median_ns\": 1000"));
  EXPECT_EQ(RunVerb({"best", function, "--target", kTarget, "--json", "--db", pack}).out, Verb(best).out);
  const std::string again = folder / "again.pack";
  EXPECT_EQ(RunVerb({"db", "pack", function, "--target", kTarget, "-o", again, "--db", pack}).code, 0);
  EXPECT_EQ(Contents(again), Contents(pack)) << "the same schedules are the same bytes";
  std::filesystem::resize_file(again, 300);
  EXPECT_THAT(RunVerb({"best", "--db", again}).err, HasSubstr("read pack " + again + ": its last line is missing"));
}

TEST_F(FunctionFileTest, DbPackNamesWhatItMisses) {
  const std::string pack = folder / "best.pack", other = "llvm -mcpu=cortex-a72 -num-cores=4";
  const VerbRun some = Verb({"db", "pack", "--target", kTarget, "--target", other, function, "-o", pack});
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_THAT(some.err, HasSubstr("MISS main "));
  EXPECT_THAT(some.err, HasSubstr("1 of 2 schedules"));
  const std::string nothing = folder / "none.pack";
  const VerbRun none = Verb({"db", "pack", function, "--target", other, "-o", nothing});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("nothing of this was tuned for these targets"));
  EXPECT_FALSE(std::filesystem::exists(nothing));
  EXPECT_EQ(Verb({"db", "pack", function, "--target", kTarget, "-o", path}).code, 2) << "a database is there";
}

TEST_F(FunctionFileTest, DbMergeTakesInAnotherDatabase) {
  const std::string other = folder / "other.db";
  std::string renamed = kMatmulRelu;  // The function and a buffer: schedules do not ask for these.
  for (const auto& [from, to] : {std::pair("def main", "def fused"), std::pair("C", "Product")})
    for (size_t at = 0; (at = renamed.find(from, at)) != std::string::npos; at += std::string(to).size())
      renamed.replace(at, std::string(from).size(), to);
  AddRecord(other, renamed, 900);
  const VerbRun run = Verb({"db", "merge", other});
  EXPECT_EQ(run.code, 0) << run.err << run.out;
  EXPECT_EQ(run.err, "lathe: 1 workloads: 0 new, 1 known, 0 refused\nlathe: 1 records: 1 new, 0 known, 0 refused\n");
  EXPECT_THAT(Verb({"db", "merge", other}).err, HasSubstr("1 records: 0 new, 1 known, 0 refused"));
  EXPECT_THAT(Verb({"best", "--json"}).out, HasSubstr("\"median_ns\": 900"));
  EXPECT_THAT(Verb({"db", "merge", path}).err, HasSubstr("it is the database itself"));
  EXPECT_EQ(Verb({"db", "merge", folder / "none.db"}).code, 3);
}

TEST_F(FunctionFileTest, DbMergeRefusesSchedulesThatNameOtherBlocks) {
  const std::string other = folder / "other.db";
  std::string renamed = kMatmulRelu;
  renamed.replace(renamed.find("\"relu\""), 6, "\"clip\"");
  AddRecord(other, renamed, 900);
  const VerbRun run = Verb({"db", "merge", other});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out, HasSubstr("it is here under other names of blocks"));
  EXPECT_THAT(run.out, HasSubstr(": its workload was refused"));
  EXPECT_THAT(Verb({"best", "--json"}).out, HasSubstr("\"median_ns\": 1000"));
}

TEST_F(WriteVerbsTest, DbImportGoesThroughTheOwnerInPieces) {
  const std::string lines = folder / "records.jsonl";
  {
    const auto source = *SqliteStore::OpenInMemory();
    std::vector<TuningRecord> records;
    ASSERT_TRUE(source->PutWorkload(MakeWorkload()).ok());
    for (int i = 0; i < 300; ++i) {
      TuningRecord record{.result_key = Sha256(std::to_string(i)), .key = MakeKey(), .timings = MakeTimings(1000 + i)};
      record.trace_json = "[" + std::string(10'000, ' ') + std::to_string(i) + "]";
      record.trace_digest = Sha256(record.trace_json);
      records.push_back(record);
    }
    ASSERT_TRUE(source->ImportRecords(records).ok());
    std::ofstream out(lines);
    ASSERT_TRUE(ExportRecords(*source, out).ok());
  }
  const auto store = *SqliteStore::Open(path);
  StoreCore core(*store);
  CoreApi api(core);
  const auto server = *ServiceServer::Start({.listen = {{.unix_path = path + ".sock"}}}, api);
  const VerbRun run = RunVerb({"db", "import", lines, "--db", path});
  EXPECT_EQ(run.err, "lathe: 1 workloads and 300 records read, 300 of them new\n");
  EXPECT_EQ(store->Stats()->records, 300);
}

const std::string kTvmFiles = LATHE_SOURCE_DIR "/tests/fixtures/tvm_0_27/database_";

TEST_F(WriteVerbsTest, DbImportsWhatTvmWrote) {
  const std::vector<std::string> import = {"db",
                                           "import",
                                           "--tvm-workloads",
                                           kTvmFiles + "workload.json",
                                           "--tvm-records",
                                           kTvmFiles + "tuning_record.json",
                                           "--db",
                                           path};
  const VerbRun run = RunVerb(import);
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.err, HasSubstr("lathe: 4 workloads and 11 records read, 11 of them new\nnext: lathe show "));
  EXPECT_THAT(run.err, HasSubstr(" --db " + path + " > FUNC.py; lathe tune FUNC.py --db " + path + "\n"));
  EXPECT_THAT(RunVerb(import).err, HasSubstr("11 records read, 0 of them new"));
  EXPECT_THAT(RunVerb({"best", "--db", path}).err, HasSubstr(": nothing was measured; `lathe show "));
  EXPECT_THAT(RunVerb({"best", "--db", path}).out, testing::Not(HasSubstr("ns"))) << "nothing was measured";
  const std::string lines = folder / "records.jsonl", other = folder / "other.db";
  EXPECT_EQ(RunVerb({"db", "export", lines, "--db", path}).err, "lathe: 4 workloads and 11 records written\n");
  EXPECT_EQ(RunVerb({"db", "import", lines, "--db", other}).err,
            "lathe: 4 workloads and 11 records read, 11 of them new\n");
  EXPECT_EQ(RunVerb({"db", "export", "--db", other}).out, Contents(lines));
}

TEST_F(WriteVerbsTest, DbExportsForTvmWhatItHasNoWordForAsLocalMemory) {
  const std::string ours = LATHE_SOURCE_DIR "/tests/fixtures/fb8abfd/records.jsonl";
  const std::string workloads = folder / "w.json", records = folder / "r.json";
  ASSERT_THAT(Contents(ours), HasSubstr("\\\"register\\\""));
  ASSERT_EQ(RunVerb({"db", "import", ours, "--db", path}).code, 0);
  const VerbRun run = RunVerb({"db", "export", "--tvm-workloads", workloads, "--tvm-records", records, "--db", path});
  EXPECT_EQ(run.err, "lathe: 1 workloads and 12 records written for TVM\n");
  EXPECT_THAT(Contents(records), testing::AllOf(HasSubstr("\"local\""), testing::Not(HasSubstr("register"))));
}

TEST_F(WriteVerbsTest, DbImportSkipsWhatItCannotUseAndRefusesWhatIsNotTvms) {
  const std::string records = folder / "records.json";
  const auto import = [&](const std::string& text) {
    std::ofstream(records) << text;
    return RunVerb(
        {"db", "import", "--tvm-workloads", kTvmFiles + "workload.json", "--tvm-records", records, "--db", path});
  };
  const VerbRun skipped = import(
      "[0,[[[[\"FoldSpace\",[],[],[]]],[]],null,null,null]]\n"
      "[0,[[[[\"GetSBlock\",[],[\"nothing\",\"main\"],[\"b0\"]]],[]],null,null,null]]\n"
      "[0,[[[[\"GetSBlock\",[],[\"nothing\",\"nope\"],[\"b0\"]]],[]],null,null,null]]\n");
  EXPECT_EQ(skipped.code, 0);
  EXPECT_THAT(skipped.err, HasSubstr("records.json, line 1: "));
  EXPECT_THAT(skipped.err, HasSubstr("FoldSpace"));
  EXPECT_THAT(skipped.err, HasSubstr("line 2: its trace does not replay here: "));
  EXPECT_THAT(skipped.err, HasSubstr("line 3: its trace is of function \"nope\", its workload is \"main\""));
  EXPECT_THAT(skipped.err, HasSubstr("4 workloads and 0 records read"));
  EXPECT_EQ(import("{}\n").code, 2);
  const VerbRun one_is_good = import("[9,[[[],[]],null,null,null]]\n{}\n[0,[[[],[]],null,null,null]]\n");
  EXPECT_EQ(one_is_good.code, 0);
  EXPECT_THAT(one_is_good.err, HasSubstr("line 1: it is of workload 9; there are 4"));
  EXPECT_THAT(one_is_good.err, HasSubstr("line 2: read TVM's record: "));
  EXPECT_THAT(one_is_good.err, HasSubstr("0 workloads and 2 records skipped"));
  EXPECT_THAT(one_is_good.err, HasSubstr("4 workloads and 1 records read"));
  EXPECT_EQ(RunVerb({"db", "import", "--db", path}).err,
            "lathe: db import: FILE or --tvm-workloads with --tvm-records required\n");
  EXPECT_EQ(RunVerb({"db", "import", "--tvm-workloads", records, "--db", path}).code, 2);
}

TEST_F(WriteVerbsTest, TuneRefusesTheTargetOfAnotherMachine) {
  const std::string file = folder / "copy.py";
  std::ofstream(file) << "@T.prim_func\ndef copy(A: T.Buffer((8,), \"int8\"), B: T.Buffer((8,), \"int8\")):\n"
                         "    for i in range(8):\n        with T.block(\"B\"):\n            v = T.axis.spatial(8, i)\n"
                         "            B[v] = A[v]\n";
  const bool is_x86 = DetectHost().triple.starts_with("x86_64");
  const VerbRun run = RunVerb({"tune", file, "--target",
                               is_x86 ? "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-cores=1"
                                      : "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v3 -num-cores=1",
                               "--db", path});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("tune: the target is for "));
  EXPECT_THAT(run.err, HasSubstr("; start `lathe device` there and tune with --server"));
}

TEST_F(WriteVerbsTest, DbImportSaysHowFilesOfTvmAreGiven) {
  const std::string workloads = kTvmFiles + "workload.json", records = kTvmFiles + "tuning_record.json";
  EXPECT_THAT(RunVerb({"db", "import", records, "--db", path}).err,
              HasSubstr("it is a file of TVM's database; name both: --tvm-workloads"));
  EXPECT_THAT(RunVerb({"db", "import", "--tvm-workloads", records, "--tvm-records", workloads, "--db", path}).err,
              HasSubstr("it holds records, no workloads; swap --tvm-workloads and --tvm-records"));
  EXPECT_THAT(RunVerb({"db", "import", "/", "--db", path}).err, HasSubstr("read /: it is a folder; name a file"));
}

TEST_F(WriteVerbsTest, DbImportSkipsAMarkOfUtf8) {
  const std::string ours = LATHE_SOURCE_DIR "/tests/fixtures/fb8abfd/records.jsonl", marked = folder / "marked.jsonl";
  std::ofstream(marked) << "\xEF\xBB\xBF" << Contents(ours);
  EXPECT_THAT(RunVerb({"db", "import", marked, "--db", path}).err, HasSubstr("1 workloads and"));
}

TEST_F(WriteVerbsTest, DbImportNamesTheBadLine) {
  const std::string lines = folder / "records.jsonl";
  std::ofstream(lines) << "{\"kind\":\"header\",\"format\":\"lathe.records/1\"}\nrubbish\n";
  const VerbRun run = RunVerb({"db", "import", lines, "--db", path});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("import " + lines));
  EXPECT_THAT(run.err, HasSubstr("line 2"));
  EXPECT_EQ(RunVerb({"db", "import", folder / "nothing", "--db", path}).code, 3);
}

}  // namespace
}  // namespace lathe
