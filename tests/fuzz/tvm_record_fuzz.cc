// libFuzzer: any text is a line of TVM's tuning database or an error; what was read writes and reads back.
#include "compiler/import/tvm/tuning_records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const StatusOr<TvmRecord> record = ReadTvmRecord(text); record.ok()) {
    const std::string line = WriteTvmRecord(*record, TvmRelease::k0_27);
    const StatusOr<TvmRecord> again = ReadTvmRecord(line);
    CHECK(again.ok()) << again.status().ToString() << "\n" << line;
    CHECK(WriteTvmRecord(*again, TvmRelease::k0_27) == line) << line;
  }
  if (const StatusOr<TvmWorkload> workload = ReadTvmWorkload(text); workload.ok()) {
    const StatusOr<TvmWorkload> again = ReadTvmWorkload(WriteTvmWorkload(*workload));
    CHECK(again.ok()) << again.status().ToString();
    CHECK(again->graph == workload->graph && again->hash == workload->hash) << workload->hash;
  }
  return 0;
}
