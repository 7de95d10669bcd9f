// The two files of TVM's meta schedule database, line by line (docs/formats/tvm_records.md): what was tuned, and what
// was learnt. What was read is written back byte for byte.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/import/tvm/tvm_json.h"
#include "compiler/schedule/trace.h"

namespace lathe {

// Whose names of instructions: v0.18 writes GetBlock, 0.27 GetSBlock. Both are read.
enum class TvmRelease { k0_18, k0_27 };

// A line of database_workload.json.
struct TvmWorkload {
  std::string hash;   // TVM's structural hash in decimal. 0.18 computes it anew and refuses another; 0.27 does not.
  std::string graph;  // JSON text of the nodes of an IRModule (workload_graph.h).
};
StatusOr<TvmWorkload> ReadTvmWorkload(std::string_view line);
std::string WriteTvmWorkload(const TvmWorkload& workload);

// A line of database_tuning_record.json.
struct TvmRecord {
  int64_t workload = 0;  // The line of database_workload.json, from 0.
  ScheduleTrace trace;
  std::optional<std::vector<double>> run_seconds;  // nullopt: not measured.
  TvmJson target;                                  // As it stands there; null: not known.
  TvmJson arguments;                               // Likewise: ["TENSOR",dtype,shape] each.
};
// Unimplemented, with the instruction, where the trace holds what this build does not know.
StatusOr<TvmRecord> ReadTvmRecord(std::string_view line);
std::string WriteTvmRecord(const TvmRecord& record, TvmRelease release);

// A trace alone, as it stands in a record.
StatusOr<ScheduleTrace> ReadTvmTrace(const TvmJson& json);
TvmJson WriteTvmTrace(const ScheduleTrace& trace, TvmRelease release);

// Whether the last input of such an instruction is a list, which is flat here; before it stands one other.
bool HasListInput(std::string_view kind);

}  // namespace lathe
