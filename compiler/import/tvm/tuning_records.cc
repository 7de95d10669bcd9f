#include "compiler/import/tvm/tuning_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/import/tvm/graph_writer.h"
#include "compiler/import/tvm/index_map_graph.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

// ---- Base64 -----------------------------------------------------------------------------------------------------

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? kBase64[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

StatusOr<std::string> DecodeBase64(std::string_view text) {
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  if (text.size() % 4 != 0) return InvalidArgument("read TVM's workload: its base64 is cut off");
  std::string bytes;
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = i < text.size() - padding ? kBase64.find(text[i]) : 0;
    if (digit == std::string_view::npos)
      return InvalidArgument(fmt::format("read TVM's workload: byte {} of it is not base64", i));
    group = group << 6 | static_cast<uint32_t>(digit);
    if (i % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(group >> shift & 255);
    group = 0;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

// The text that follows, in bytes, as 8 little-endian ones.
constexpr size_t kLengthSize = 8;
std::string LengthOf(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < kLengthSize; ++i) bytes += static_cast<char>(uint64_t{text.size()} >> (8 * i) & 255);
  return bytes;
}

// ---- Traces -----------------------------------------------------------------------------------------------------

struct Rename {
  std::string_view ours, today;
};
constexpr Rename kRenames[] = {{"GetBlock", "GetSBlock"}};

// Index maps as TVM writes them, as the text of a graph; ours are read, too. What no graph holds stays our text.
MapForm MapsOf(TvmRelease release) {
  return {[release](const TraceMap& map) {
            const StatusOr<std::string> graph =
                release == TvmRelease::k0_18 ? WriteOldTvmIndexMap(map) : WriteTvmIndexMap(map);
            return graph.ok() ? *graph : MapsAsText().write(map);
          },
          [](const std::string& text) -> StatusOr<std::optional<IndexMap>> {
            if (!text.starts_with("{")) return MapsAsText().read(text);
            ASSIGN_OR_RETURN(IndexMap map, ReadTvmIndexMap(text));
            return std::optional<IndexMap>(std::move(map));
          }};
}

// Instruction `json` in our names and with flat inputs, if it looks like one; else what it is, for FromJson to refuse.
TvmJson ToOurs(TvmJson json) {
  TvmList* parts = std::get_if<TvmList>(&json);
  if (parts == nullptr || parts->size() != 4) return json;
  std::string* kind = std::get_if<std::string>(&(*parts)[0]);
  TvmList* inputs = std::get_if<TvmList>(&(*parts)[1]);
  if (kind == nullptr || inputs == nullptr) return json;
  for (const Rename& rename : kRenames)
    if (*kind == rename.today) *kind = rename.ours;
  if (HasListInput(*kind) && inputs->size() == 2) {
    if (TvmList* list = std::get_if<TvmList>(&inputs->back())) {
      TvmList consumers = std::move(*list);
      inputs->pop_back();
      std::move(consumers.begin(), consumers.end(), std::back_inserter(*inputs));
    }
  }
  for (TvmJson& input : *inputs) {
    const std::string* text = input.As<std::string>();
    if (text != nullptr && *text == "None") input = TvmJson();
  }
  return json;
}

TvmJson ToTheirs(TvmJson json, TvmRelease release) {
  TvmList& parts = std::get<TvmList>(json);
  std::string& kind = std::get<std::string>(parts[0]);
  TvmList& inputs = std::get<TvmList>(parts[1]);
  for (TvmJson& input : inputs)
    if (input.As<std::monostate>() != nullptr) input = TvmJson("None");
  if (HasListInput(kind) && !inputs.empty()) {  // None is none to replay, but has been read.
    TvmList consumers(std::make_move_iterator(inputs.begin() + 1), std::make_move_iterator(inputs.end()));
    inputs.resize(1);
    inputs.push_back(TvmJson(std::move(consumers)));
  }
  for (const Rename& rename : kRenames)
    if (release == TvmRelease::k0_27 && kind == rename.ours) kind = rename.today;
  return json;
}

// ---- Records ----------------------------------------------------------------------------------------------------

StatusOr<std::optional<std::vector<double>>> ReadSeconds(const TvmJson& json) {
  if (json.As<std::monostate>() != nullptr) return std::optional<std::vector<double>>();
  const TvmList* list = json.As<TvmList>();
  if (list == nullptr) return InvalidArgument("read TVM's record: the seconds are neither a list nor null");
  std::vector<double> seconds;
  for (const TvmJson& item : *list) {
    const int64_t* integer = item.As<int64_t>();
    const double* real = item.As<double>();
    if (integer == nullptr && real == nullptr)
      return InvalidArgument("read TVM's record: one of the seconds is no number");
    seconds.push_back(integer != nullptr ? static_cast<double>(*integer) : *real);
  }
  return std::optional(std::move(seconds));
}

TvmJson WriteSeconds(const std::optional<std::vector<double>>& seconds) {
  if (!seconds) return TvmJson();
  TvmList list;
  for (const double second : *seconds) list.emplace_back(second);
  return TvmJson(std::move(list));
}

}  // namespace

bool HasListInput(std::string_view kind) { return kind == "CacheRead" || kind == "CacheWrite"; }

StatusOr<TvmWorkload> ReadTvmWorkload(std::string_view line) {
  ASSIGN_OR_RETURN(const TvmJson json, ParseTvmJson(line));
  const TvmList* parts = json.As<TvmList>();
  const bool is_pair = parts != nullptr && parts->size() == 2 && (*parts)[0].As<std::string>() != nullptr &&
                       (*parts)[1].As<std::string>() != nullptr;
  if (!is_pair) return InvalidArgument("read TVM's workload: [hash, base64 of its nodes], both texts, are required");
  ASSIGN_OR_RETURN(std::string bytes, DecodeBase64(*(*parts)[1].As<std::string>()));
  const std::string_view graph = std::string_view(bytes).substr(std::min(kLengthSize, bytes.size()));
  if (!bytes.starts_with(LengthOf(graph)))
    return InvalidArgument(
        fmt::format("read TVM's workload: {} bytes do not begin with the length of the rest", bytes.size()));
  return TvmWorkload{*(*parts)[0].As<std::string>(), std::string(graph)};
}

std::string WriteTvmWorkload(const TvmWorkload& workload) {
  return ToTvmText(TvmList{workload.hash, EncodeBase64(LengthOf(workload.graph) + workload.graph)});
}

StatusOr<ScheduleTrace> ReadTvmTrace(const TvmJson& json) {
  const TvmList* parts = json.As<TvmList>();
  const TvmList* instructions = parts != nullptr && parts->size() == 2 ? (*parts)[0].As<TvmList>() : nullptr;
  if (instructions == nullptr) return InvalidArgument("read TVM's trace: [instructions, decisions] is required");
  TvmList ours;
  for (const TvmJson& instruction : *instructions) ours.push_back(ToOurs(instruction));
  return ScheduleTrace::FromJson(ToPlainText(TvmList{TvmJson(std::move(ours)), (*parts)[1]}),
                                 MapsOf(TvmRelease::k0_27));
}

TvmJson WriteTvmTrace(const ScheduleTrace& trace, TvmRelease release) {
  StatusOr<TvmJson> json = ParseTvmJson(trace.ToJson(MapsOf(release)));
  CHECK(json.ok()) << json.status().ToString();
  TvmList& parts = std::get<TvmList>(*json);
  for (TvmJson& instruction : std::get<TvmList>(parts[0])) instruction = ToTheirs(std::move(instruction), release);
  return *std::move(json);
}

StatusOr<TvmRecord> ReadTvmRecord(std::string_view line) {
  ASSIGN_OR_RETURN(const TvmJson json, ParseTvmJson(line));
  const TvmList* pair = json.As<TvmList>();
  const int64_t* workload = pair != nullptr && pair->size() == 2 ? (*pair)[0].As<int64_t>() : nullptr;
  const TvmList* parts = workload != nullptr ? (*pair)[1].As<TvmList>() : nullptr;
  if (parts == nullptr || parts->size() != 4 || *workload < 0)
    return InvalidArgument(
        "read TVM's record: [line of the workload, [trace, seconds, target, arguments]] is required");
  TvmRecord record;
  record.workload = *workload;
  ASSIGN_OR_RETURN(record.trace, ReadTvmTrace((*parts)[0]));
  ASSIGN_OR_RETURN(record.run_seconds, ReadSeconds((*parts)[1]));
  record.target = (*parts)[2];
  record.arguments = (*parts)[3];
  return record;
}

std::string WriteTvmRecord(const TvmRecord& record, TvmRelease release) {
  return ToTvmText(
      TvmList{TvmJson(record.workload), TvmList{WriteTvmTrace(record.trace, release), WriteSeconds(record.run_seconds),
                                                record.target, record.arguments}});
}

}  // namespace lathe
