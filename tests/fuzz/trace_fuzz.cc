// libFuzzer: any text is a schedule trace or an error, as JSON and as Python; what was read writes and reads back.
#include "compiler/schedule/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lathe;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromJson(text); trace.ok()) {
    const StatusOr<ScheduleTrace> again = ScheduleTrace::FromJson(trace->ToJson());
    CHECK(again.ok()) << again.status().ToString();
    CHECK(again->ToJson() == trace->ToJson()) << trace->ToJson();
  }
  if (const StatusOr<ScheduleTrace> trace = ScheduleTrace::FromPython(text); trace.ok()) {
    const StatusOr<ScheduleTrace> again = ScheduleTrace::FromPython(trace->ToPython());
    CHECK(again.ok()) << again.status().ToString() << "\n" << trace->ToPython();
    CHECK(again->ToPython() == trace->ToPython()) << trace->ToPython();
  }
  return 0;
}
