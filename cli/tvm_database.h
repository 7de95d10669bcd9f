// The two files of TVM's meta schedule database as what ours holds (docs/formats/tvm_records.md).
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "support/status.h"
#include "tuner/database/rows.h"

namespace lathe {

// What editors put before texts in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct TvmDatabase {
  std::vector<Workload> workloads;   // Each once.
  std::vector<ForeignTrace> traces;  // Those that replay on their workload.
  std::vector<std::string> skipped;  // One sentence for each workload and record that this build cannot use.
  int64_t num_skipped_workloads = 0, num_skipped_records = 0;
};

// What this build cannot use is skipped, line by line; InvalidArgument, with file and line, where no line of a file is
// one of TVM's.
StatusOr<TvmDatabase> ReadTvmDatabase(const std::string& workloads_path, const std::string& records_path);

// The two texts, of 0.27, from the lines that `lathe db export` writes: measured records and their workloads.
struct TvmDatabaseText {
  std::string workloads, records;
  int64_t num_workloads = 0, num_records = 0;
  std::vector<std::string> skipped;  // One sentence for each workload that TVM's nodes cannot hold.
};
StatusOr<TvmDatabaseText> WriteTvmDatabase(std::istream& lines);

}  // namespace lathe
