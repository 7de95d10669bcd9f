// Records as JSON lines (docs/formats/records.md): what one database gives to another.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "tuner/database/store.h"

namespace lathe {

struct TransferCounts {
  int64_t workloads = 0, records = 0;  // Written, or read; foreign schedules count as records.
  int64_t new_records = 0;             // Of an import: those that were not there before.
};

// One line, with its end: what a file of records or a pack (pack.h) is made of. Pure.
using RecordLine = std::variant<Workload, TuningRecord, ForeignTrace>;
std::string WorkloadLine(const Workload& workload);
std::string RecordLineOf(const TuningRecord& record);
// A record's or schedule's trace has the digest that it says; DataLoss otherwise.
StatusOr<RecordLine> ReadRecordLine(std::string_view line);
// The first line of such a file.
std::string FormatLine(std::string_view format);
Status CheckFormatLine(std::string_view line, std::string_view format, std::string_view next_step);

// Writes every workload, record and foreign schedule.
StatusOr<TransferCounts> ExportRecords(Store& store, std::ostream& out);
// The same lines, of what is at hand.
void WriteForeign(std::span<const Workload> workloads, std::span<const ForeignTrace> traces, std::ostream& out);
// Merges by workload digest and result key. Stops at the first bad line and names it; the lines before it have been
// merged, and importing the mended file again is harmless.
StatusOr<TransferCounts> ImportRecords(Store& store, std::istream& in);

}  // namespace lathe
