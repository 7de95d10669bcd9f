// Any packet: what a runner may have sent, and what it may be sent, decodes or fails cleanly; what is accepted is
// encoded again to the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "runner/runner_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  const std::span<const std::byte> record(reinterpret_cast<const std::byte*>(data), size);
  const RuntimeResult<RecordType> type = DecodeRecordType(record);
  if (!type.ok()) return 0;
  (void)RecordKey(record);
  switch (*type) {
    case RecordType::kReady:
      (void)DecodeReady(record).ok();
      break;
    case RecordType::kProgress:
      (void)DecodeProgress(record).ok();
      break;
    case RecordType::kReport:
      if (const RuntimeResult<RunReport> report = DecodeReport(record);
          report.ok() && !DecodeReport(EncodeReport(*report)).ok())
        std::abort();
      break;
    case RecordType::kSpec:
      if (const RuntimeResult<RunSpec> spec = DecodeSpec(record); spec.ok() && !EncodeSpec(*spec).ok()) std::abort();
      break;
  }
  return 0;
}
