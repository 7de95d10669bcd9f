// Files that TVM 0.27 wrote (tests/peers/tvm_records): read, replayed, and written from what was read.
#include "compiler/import/tvm/tuning_records.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <random>

#include "compiler/import/tvm/graph_writer.h"
#include "compiler/import/tvm/workload_graph.h"
#include "compiler/ir/structural.h"
#include "compiler/schedule/schedule.h"
#include "compiler/script/parser.h"
#include "compiler/script/printer.h"
#include "tests/property_runs.h"

namespace lathe {
namespace {

using testing::HasSubstr;

std::vector<std::string> LinesOf(const std::string& file) {
  std::ifstream in(std::string(LATHE_SOURCE_DIR "/tests/fixtures/") + file);
  CHECK(in.good()) << file;
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<IRModule> Workloads(const std::string& folder = "tvm_0_27") {
  std::vector<IRModule> modules;
  for (const std::string& line : LinesOf(folder + "/database_workload.json")) {
    const StatusOr<TvmWorkload> workload = ReadTvmWorkload(line);
    CHECK(workload.ok()) << workload.status().ToString();
    StatusOr<IRModule> module = ReadTvmModule(workload->graph);
    CHECK(module.ok()) << module.status().ToString() << *TvmModuleToScript(workload->graph);
    modules.push_back(*std::move(module));
  }
  return modules;
}

TEST(TvmWorkloadTest, IsWrittenBackByteForByte) {
  const std::vector<std::string> lines = LinesOf("tvm_0_27/database_workload.json");
  ASSERT_EQ(lines.size(), 4u);
  for (const std::string& line : lines) {
    const StatusOr<TvmWorkload> workload = ReadTvmWorkload(line);
    ASSERT_TRUE(workload.ok()) << workload.status().ToString();
    EXPECT_EQ(WriteTvmWorkload(*workload), line);
  }
}

TEST(TvmRecordTest, IsWrittenBackByteForByteFromTheTraceThatWasRead) {
  const std::vector<std::string> lines = LinesOf("tvm_0_27/database_tuning_record.json");
  ASSERT_EQ(lines.size(), 11u);
  for (const std::string& line : lines) {
    const StatusOr<TvmRecord> record = ReadTvmRecord(line);
    ASSERT_TRUE(record.ok()) << record.status().ToString();
    EXPECT_EQ(WriteTvmRecord(*record, TvmRelease::k0_27), line);
  }
}

// Index maps with sampled variables, with their inverse, as attributes; numbers that are not finite; several outputs;
// annotations that are maps.
TEST(TvmRecordTest, OfARareFormIsWrittenBackAndReplaysOnItsWorkload) {
  const std::vector<IRModule> modules = Workloads("tvm_0_27_forms");
  const std::vector<std::string> lines = LinesOf("tvm_0_27_forms/database_tuning_record.json");
  ASSERT_EQ(lines.size(), 5u);
  for (const std::string& line : lines) {
    const StatusOr<TvmRecord> record = ReadTvmRecord(line);
    ASSERT_TRUE(record.ok()) << record.status().ToString();
    EXPECT_EQ(WriteTvmRecord(*record, TvmRelease::k0_27), line);
    StatusOr<Schedule> schedule = Schedule::Create(modules.at(static_cast<size_t>(record->workload)));
    ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
    const Status status = record->trace.Replay(*schedule);
    EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << line;
    const StatusOr<ScheduleTrace> ours = ScheduleTrace::FromJson(record->trace.ToJson());
    ASSERT_TRUE(ours.ok()) << ours.status().ToString();
    EXPECT_EQ(ours->ToJson(), record->trace.ToJson());
    const StatusOr<ScheduleTrace> python = ScheduleTrace::FromPython(record->trace.ToPython());
    ASSERT_TRUE(python.ok()) << python.status().ToString();
    EXPECT_EQ(python->ToPython(), record->trace.ToPython());
  }
}

TEST(TvmRecordTest, KeepsAZeroBelowZero) {
  const std::string line = R"([0,[[[["Annotate",["b0",-0],["k"],[]]],[]],null,null,null]])";
  const StatusOr<TvmRecord> record = ReadTvmRecord(line);
  ASSERT_TRUE(record.ok()) << record.status().ToString();
  EXPECT_EQ(WriteTvmRecord(*record, TvmRelease::k0_27), line);
}

TEST(TvmRecordTest, HasTheNamesOfTheReleaseThatIsAskedFor) {
  const StatusOr<TvmRecord> record =
      ReadTvmRecord(R"([0,[[[["GetBlock",[],["C","main"],["b0"]]],[]],null,null,null]])");
  ASSERT_TRUE(record.ok()) << record.status().ToString();
  EXPECT_THAT(WriteTvmRecord(*record, TvmRelease::k0_18), HasSubstr("[\"GetBlock\""));
  EXPECT_THAT(WriteTvmRecord(*record, TvmRelease::k0_27), HasSubstr("[\"GetSBlock\""));
}

TEST(TvmRecordTest, KeepsAnInstructionWithoutInputs) {
  const std::string line = R"([0,[[[["CacheRead",[],["root","main"],["b2"]]],[]],null,null,null]])";
  const StatusOr<TvmRecord> record = ReadTvmRecord(line);
  ASSERT_TRUE(record.ok()) << record.status().ToString();
  EXPECT_EQ(WriteTvmRecord(*record, TvmRelease::k0_27), line);
}

TEST(TvmRecordTest, ReplaysOnItsWorkload) {
  const std::vector<IRModule> modules = Workloads();
  int replayed = 0;
  for (const std::string& line : LinesOf("tvm_0_27/database_tuning_record.json")) {
    const StatusOr<TvmRecord> record = ReadTvmRecord(line);
    ASSERT_TRUE(record.ok()) << record.status().ToString();
    StatusOr<Schedule> schedule = Schedule::Create(modules.at(static_cast<size_t>(record->workload)));
    ASSERT_TRUE(schedule.ok()) << schedule.status().ToString();
    const Status status = record->trace.Replay(*schedule);
    EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << line;
    replayed += record->trace.size() > 0;
  }
  EXPECT_EQ(replayed, 5);
}

TEST(TvmWorkloadTest, IsTheFunctionThatItsAuthorWrote) {
  const StatusOr<PrimFunc> written = ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((64, 48), "float32"), B: T.Buffer((48, 32), "float32"), C: T.Buffer((64, 32), "float32")):
    T.func_attr({"tir.noalias": True})
    D = T.alloc_buffer((64, 32), "float32")
    for i, j, k in T.grid(64, 32, 48):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(64, 32):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(D[vi, vj], T.float32(0))
)",
                                                   "matmul.py");
  ASSERT_TRUE(written.ok()) << written.status().ToString();
  const PrimFunc read = Workloads()[0].prim_funcs.at(0);
  EXPECT_TRUE(StructuralEqual(read, *written)) << Print(read);
}

// The layout of v0.18: fields are texts, texts are nodes.
constexpr char kOldGraph[] = R"({"root": 1, "nodes": [
{"type_key": ""},
{"type_key": "IRModule", "attrs": {"functions": "2", "global_var_map_": "0", "source_map": "0", "attrs": "0", "global_infos": "0"}},
{"type_key": "Map", "data": [3, 5]},
{"type_key": "GlobalVar", "attrs": {"name_hint": "4", "span": "0"}},
{"type_key": "runtime.String", "repr_str": "main"},
{"type_key": "tir.PrimFunc", "attrs": {"attrs": "6", "body": "20", "buffer_map": "9", "params": "8", "ret_type": "0", "span": "0"}},
{"type_key": "DictAttrs", "attrs": {"__dict__": "7"}},
{"type_key": "Map", "keys": ["tir.noalias", "global_symbol"], "data": [33, 4]},
{"type_key": "Array", "data": [10, 11]},
{"type_key": "Map", "data": [10, 12, 11, 13]},
{"type_key": "tir.Var", "attrs": {"dtype": "handle", "name": "14", "span": "0", "type_annotation": "0"}},
{"type_key": "tir.Var", "attrs": {"dtype": "handle", "name": "15", "span": "0", "type_annotation": "0"}},
{"type_key": "tir.Buffer", "attrs": {"axis_separators": "18", "buffer_type": "1", "data": "16", "data_alignment": "64", "dtype": "float32", "elem_offset": "19", "name": "14", "offset_factor": "1", "shape": "17", "span": "0", "strides": "18"}},
{"type_key": "tir.Buffer", "attrs": {"axis_separators": "18", "buffer_type": "1", "data": "16", "data_alignment": "64", "dtype": "float32", "elem_offset": "19", "name": "15", "offset_factor": "1", "shape": "17", "span": "0", "strides": "18"}},
{"type_key": "runtime.String", "repr_str": "A"},
{"type_key": "runtime.String", "repr_str": "B"},
{"type_key": "tir.Var", "attrs": {"dtype": "handle", "name": "14", "span": "0", "type_annotation": "31"}},
{"type_key": "Array", "data": [21]},
{"type_key": "Array"},
{"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "0"}},
{"type_key": "tir.For", "attrs": {"annotations": "30", "body": "24", "extent": "21", "kind": "1", "loop_var": "22", "min": "19", "span": "0", "thread_binding": "0"}},
{"type_key": "IntImm", "attrs": {"dtype": "int32", "span": "0", "value": "16"}},
{"type_key": "tir.Var", "attrs": {"dtype": "int32", "name": "23", "span": "0", "type_annotation": "0"}},
{"type_key": "runtime.String", "repr_str": "i"},
{"type_key": "tir.BufferStore", "attrs": {"buffer": "13", "indices": "25", "predicate": "0", "span": "0", "value": "26"}},
{"type_key": "Array", "data": [22]},
{"type_key": "tir.Call", "attrs": {"args": "27", "dtype": "float32", "op": "28", "span": "0"}},
{"type_key": "Array", "data": [29]},
{"type_key": "Op", "repr_str": "tir.exp"},
{"type_key": "tir.BufferLoad", "attrs": {"buffer": "12", "dtype": "float32", "indices": "25", "predicate": "0", "span": "0"}},
{"type_key": "Map"},
{"type_key": "PointerType", "attrs": {"element_type": "0", "storage_scope": "32"}},
{"type_key": "runtime.String"},
{"type_key": "IntImm", "attrs": {"dtype": "bool", "span": "0", "value": "1"}}
], "b64ndarrays": [], "attrs": {"tvm_version": "0.18.0"}})";

TEST(TvmWorkloadTest, IsReadInTheLayoutOfV018) {
  const StatusOr<IRModule> module = ReadTvmModule(kOldGraph);
  ASSERT_TRUE(module.ok()) << module.status().ToString();
  const StatusOr<PrimFunc> written = ParsePrimFunc(R"(
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    T.func_attr({"tir.noalias": True})
    for i in T.parallel(16):
        B[i] = T.exp(A[i])
)",
                                                   "exp.py");
  ASSERT_TRUE(written.ok()) << written.status().ToString();
  EXPECT_TRUE(StructuralEqual(module->prim_funcs.at(0), *written)) << *TvmModuleToScript(kOldGraph);
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  CHECK(at != std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(TvmWorkloadTest, KeepsWhatItsBuffersPromise) {
  const std::string graph = Replaced(kOldGraph, "\"data_alignment\": \"64\"", "\"data_alignment\": \"128\"");
  EXPECT_THAT(*TvmModuleToScript(graph), HasSubstr("\"float32\", align=128)"));
}

struct BadGraph {
  const char* name;
  const char *from, *to;  // In kOldGraph.
  const char* message;
};
class TvmGraphErrorTest : public testing::TestWithParam<BadGraph> {};

TEST_P(TvmGraphErrorTest, NamesTheNode) {
  const StatusOr<IRModule> module = ReadTvmModule(Replaced(kOldGraph, GetParam().from, GetParam().to));
  ASSERT_FALSE(module.ok());
  EXPECT_THAT(module.status().message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, TvmGraphErrorTest,
    testing::Values(BadGraph{"NoRoot", "\"root\": 1", "\"root\": 99", "does not name one of them"},
                    BadGraph{"RootIsNoModule", "\"root\": 1", "\"root\": 2", "node 2 (Map): the root is no IRModule"},
                    BadGraph{"FieldMissing", "\"extent\": \"21\", ", "", "node 20 (For): field \"extent\" is missing"},
                    BadGraph{"FieldNamesNothing", "\"extent\": \"21\"", "\"extent\": \"210\"",
                             "node 20 (For): field \"extent\" names no node"},
                    BadGraph{"UnknownStatement", "tir.BufferStore", "tir.Prefetch", "node 24 (Prefetch): no statement"},
                    BadGraph{"UnknownOperator", "tir.exp", "tir.no_such", "T.no_such"},
                    BadGraph{"Cycle", "{\"type_key\": \"Array\", \"data\": [29]}",
                             "{\"type_key\": \"Array\", \"data\": [26]}", "levels of nesting"},
                    BadGraph{"LoopOfNoKind", "\"kind\": \"1\"", "\"kind\": \"9\"", "no loop of kind 9"}),
    [](const auto& info) { return info.param.name; });

struct BadLine {
  const char* name;
  const char* line;
  const char* message;
};
class TvmRecordErrorTest : public testing::TestWithParam<BadLine> {};

TEST_P(TvmRecordErrorTest, SaysWhatIsWrong) {
  const StatusOr<TvmRecord> record = ReadTvmRecord(GetParam().line);
  ASSERT_FALSE(record.ok());
  EXPECT_THAT(record.status().message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, TvmRecordErrorTest,
    testing::Values(
        BadLine{"NoPair", "[0]", "[line of the workload"},
        BadLine{"NoTrace", "[0,[1,null,null,null]]", "[instructions, decisions] is required"},
        BadLine{"NegativeWorkload", "[-1,[[[],[]],null,null,null]]", "[line of the workload"},
        BadLine{"SecondsOfText", R"([0,[[[],[]],["1"],null,null]])", "one of the seconds is no number"},
        BadLine{"UnknownPrimitive", R"([0,[[[["Fly",[],[],[]]],[]],null,null,null]])", "instruction 0 is \"Fly\""},
        BadLine{"NotUtf8", R"([0,[[[["GetBlock",[],["\xFF","main"],["b0"]]],[]],null,null,null]])", "no JSON"}),
    [](const auto& info) { return info.param.name; });

// A good text in which up to three bytes are others; digits stay digits.
std::string Spoiled(std::string text, std::mt19937_64& random) {
  for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
    char& byte = text[random() % text.size()];
    const bool is_digit = byte >= '0' && byte <= '9';
    byte = is_digit ? static_cast<char>('0' + random() % 10) : static_cast<char>(random() % 128);
  }
  return text;
}

TEST(TvmFilesTest, AreReadOrRefusedWhateverTheyHold) {
  std::vector<std::string> graphs{kOldGraph};
  const std::vector<std::string> records = LinesOf("tvm_0_27/database_tuning_record.json");
  for (const std::string& line : LinesOf("tvm_0_27/database_workload.json"))
    graphs.push_back(ReadTvmWorkload(line)->graph);
  const SeedRange seeds = SeedsToTry(400);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    const SeedOnCrash on_crash(seed);
    SCOPED_TRACE(fmt::format("LATHE_SEED={}", seed));
    std::mt19937_64 random(seed);
    const StatusOr<IRModule> module = ReadTvmModule(Spoiled(graphs[random() % graphs.size()], random));
    EXPECT_TRUE(module.ok() || !module.status().message().empty());
    const StatusOr<TvmRecord> record = ReadTvmRecord(Spoiled(records[random() % records.size()], random));
    if (!record.ok()) continue;
    const std::string line = WriteTvmRecord(*record, TvmRelease::k0_27);
    const StatusOr<TvmRecord> again = ReadTvmRecord(line);
    ASSERT_TRUE(again.ok()) << again.status().ToString() << line;
    EXPECT_EQ(WriteTvmRecord(*again, TvmRelease::k0_27), line);
  }
}

TEST(TvmWorkloadTest, RefusesALengthThatIsNotThatOfTheText) {
  EXPECT_THAT(ReadTvmWorkload(R"(["1","AAAAAAAAAAB7fQ=="])").status().message(), HasSubstr("length of the rest"));
  EXPECT_THAT(ReadTvmWorkload(R"(["1","A?=="])").status().message(), HasSubstr("byte 1 of it is not base64"));
  EXPECT_THAT(ReadTvmWorkload(R"(["1","AAA"])").status().message(), HasSubstr("cut off"));
}

// TVM 0.27 loads what is written here and replays traces on it (tests/peers/tvm_records).
TEST(TvmGraphWriter, WritesWhatItsReaderReadsAsTheSameFunction) {
  std::vector<IRModule> modules = Workloads();
  for (IRModule& module : Workloads("tvm_0_27_forms")) modules.push_back(std::move(module));
  for (const IRModule& module : modules) {
    const PrimFunc& func = module.prim_funcs[0];
    const StatusOr<std::string> graph = WriteTvmModule(func);
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    const StatusOr<IRModule> again = ReadTvmModule(*graph);
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    EXPECT_TRUE(StructuralEqual(again->prim_funcs[0], func)) << Print(again->prim_funcs[0]) << Print(func);
    EXPECT_EQ(again->prim_funcs[0].name, "main");
  }
}

TEST(TvmGraphWriter, RefusesWhatNoFunctionToBeScheduledHolds) {
  const PrimFunc func = *ParsePrimFunc(
      "from tvm.script import tir as T\n@T.prim_func\ndef f(A: T.Buffer((4,), \"int32\")):\n"
      "    while A[0] < 3:\n        A[0] = A[0] + 1\n",
      "f.py");
  const StatusOr<std::string> graph = WriteTvmModule(func);
  EXPECT_EQ(graph.status().code(), StatusCode::kUnimplemented);
  EXPECT_THAT(graph.status().message(), HasSubstr("a statement of this kind"));
}

// As TVM 0.27 writes it, of (lambda i, j: (j, i // 4, i % 4)).
constexpr const char* kIndexMap =
    R"({"root_index":13,"nodes":[{"type":"None"},{"type":"ir.PrimType","data":{"span":0,"dtype":"int32"}},)"
    R"({"type":"ffi.String","data":"i"},{"type":"ir.Var","data":{"span":0,"ty":1,"name":2}},)"
    R"({"type":"ffi.String","data":"j"},{"type":"ir.Var","data":{"span":0,"ty":1,"name":4}},)"
    R"({"type":"ffi.Array","data":[3,5]},{"type":"int","data":4},{"type":"ir.IntImm","data":{"span":0,"ty":1,"value":7}},)"
    R"({"type":"prim.FloorDiv","data":{"span":0,"ty":1,"a":3,"b":8}},{"type":"ir.IntImm","data":{"span":0,"ty":1,"value":7}},)"
    R"({"type":"prim.FloorMod","data":{"span":0,"ty":1,"a":3,"b":10}},{"type":"ffi.Array","data":[5,9,11]},)"
    R"({"type":"tirx.IndexMap","data":{"initial_indices":6,"final_indices":12,"inverse_index_map":0}}],)"
    R"("metadata":{"tvm_version":"0.27.0.post1"}})";

TEST(TvmTrace, HoldsIndexMapsAsTvmsNodes) {
  const TvmJson theirs =
      TvmList{TvmList{TvmList{"GetSBlock", TvmList{}, TvmList{"b", "main"}, TvmList{"b0"}},
                      TvmList{"TransformLayout", TvmList{"b0", kIndexMap}, TvmList{0, 0, TvmJson(), 0}, TvmList{}}},
              TvmList{}};
  const StatusOr<ScheduleTrace> trace = ReadTvmTrace(theirs);
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  EXPECT_THAT(trace->ToJson(), HasSubstr("lambda i, j: (j, i // 4, i % 4,)"));
  const TvmJson written = WriteTvmTrace(*trace, TvmRelease::k0_27);
  const TvmList& instructions = std::get<TvmList>(std::get<TvmList>(written)[0]);
  EXPECT_EQ(std::get<TvmList>(std::get<TvmList>(instructions[1])[1])[1], TvmJson(Indented(kIndexMap)));
}

// Its layout is dmlc's: nodes before those that they refer to, ", " before the end of a line.
TEST(TvmTrace, HoldsIndexMapsAsV018WritesThem) {
  const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(
      R"j([[["SamplePerfectTile",["l0"],[2,16],["v1","v2"]],["TransformLayout",["b3","lambda i: (i // v2,)"],[0,0,null,0],[]]],[]])j");
  ASSERT_TRUE(trace.ok()) << trace.status().ToString();
  const TvmJson written = WriteTvmTrace(*trace, TvmRelease::k0_18);
  const TvmList& instructions = std::get<TvmList>(std::get<TvmList>(written)[0]);
  const std::string text = std::get<std::string>(std::get<TvmList>(std::get<TvmList>(instructions[1])[1])[1]);
  EXPECT_TRUE(text.starts_with(R"j({
  "root": 1, 
  "nodes": [
    {
      "type_key": ""
    }, 
    {
      "type_key": "tir.IndexMap", 
      "attrs": {
        "final_indices": "6", 
        "initial_indices": "2", 
        "inverse_index_map": "0"
      }
    }, 
    {
      "type_key": "Array", 
      "data": [3]
    }, 
    {
      "type_key": "tir.Var", 
      "attrs": {
        "dtype": "int32", 
        "name": "4", 
        "span": "0", 
        "type_annotation": "5"
      }
    }, )j"))
      << text;
  EXPECT_THAT(text, HasSubstr("\"repr_str\": \"v2\""));
  const StatusOr<ScheduleTrace> again = ReadTvmTrace(written);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->ToJson(), trace->ToJson());
}

}  // namespace
}  // namespace lathe
