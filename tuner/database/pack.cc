#include "tuner/database/pack.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "support/file.h"
#include "support/status_macros.h"
#include "tuner/database/records_json.h"

namespace lathe {
namespace {

constexpr std::string_view kPackFormat = "lathe.pack/1";
constexpr std::string_view kBegin = R"({"kind":"header","format":"lathe.pack/)";  // Of any version.
constexpr std::string_view kEnd = R"({"kind":"end","sha256":")";
constexpr size_t kEndBytes = kEnd.size() + 64 + 3;  // "}, and the line's end.
constexpr int64_t kMostBytes = 1 << 30;

std::string EndLine(std::string_view before) { return fmt::format("{}{}\"}}\n", kEnd, Sha256(before).ToHex()); }

bool IsNewer(const TuningKey& a, const TuningKey& b) {
  return std::tie(a.codegen_version, a.policy_version) > std::tie(b.codegen_version, b.policy_version);
}
bool IsAlike(const TuningKey& a, const TuningKey& b) {
  return std::tie(a.workload, a.target, a.device_class, a.cache_regime) ==
         std::tie(b.workload, b.target, b.device_class, b.cache_regime);
}

Status CheckWhole(std::string_view text) {
  const size_t first = text.find('\n');
  RETURN_IF_ERROR(CheckFormatLine(text.substr(0, first), kPackFormat, "pack again with this version, or upgrade"));
  const bool has_end = text.size() > kEndBytes + first && text.substr(text.size() - kEndBytes).starts_with(kEnd);
  if (has_end && EndLine(text.substr(0, text.size() - kEndBytes)) == text.substr(text.size() - kEndBytes))
    return OkStatus();
  return DataLoss(fmt::format("{}; pack again, or fetch it again",
                              has_end ? "its content has another digest than its last line says: it was changed"
                                      : "its last line is missing: it is cut off"));
}

class Reader {
 public:
  Status AddLine(std::string_view line) {
    ASSIGN_OR_RETURN(RecordLine read, ReadRecordLine(line));
    return std::visit([this](auto& row) { return Add(std::move(row)); }, read);
  }
  Pack Take() { return std::move(pack_); }

 private:
  Status Add(Workload workload) {
    if (!workloads_.insert(workload.digest).second) return InvalidArgument("its workload is there twice");
    pack_.workloads.push_back(std::move(workload));
    return OkStatus();
  }
  Status Add(TuningRecord record) {
    if (!workloads_.contains(record.key.workload))
      return InvalidArgument("its workload has no line before it; nothing could be built from it");
    if (!record.timings || record.late) return InvalidArgument("it has no time that counts; a pack holds what is best");
    if (!keys_.insert(record.key).second) return InvalidArgument("its key is there twice");
    pack_.records.push_back(std::move(record));
    return OkStatus();
  }
  static Status Add(const ForeignTrace&) {
    return InvalidArgument("kind \"foreign\": nobody of ours measured it; a pack holds what is best");
  }

  Pack pack_;
  std::set<Digest> workloads_;
  std::set<TuningKey> keys_;
};

StatusOr<std::unique_ptr<SqliteStore>> LoadPack(const std::string& path) {
  std::error_code error;
  if (const auto size = std::filesystem::file_size(path, error); !error && size > kMostBytes)
    return InvalidArgument(fmt::format("{} bytes, at most {} allowed", size, kMostBytes));
  ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  ASSIGN_OR_RETURN(const Pack pack, ReadPack(text));
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteStore> store, SqliteStore::OpenInMemory());
  for (const Workload& workload : pack.workloads) RETURN_IF_ERROR(store->PutWorkload(workload).status());
  RETURN_IF_ERROR(store->ImportRecords(pack.records).status());
  return store;
}

}  // namespace

std::vector<TuningRecord> ChooseForPack(std::span<const TuningRecord> best, std::span<const std::string> targets) {
  std::vector<TuningRecord> chosen;
  for (const TuningRecord& record : best) {
    if (!record.timings || std::ranges::find(targets, record.key.target) == targets.end()) continue;
    const bool is_superseded = std::ranges::any_of(best, [&](const TuningRecord& other) {
      return other.timings && IsAlike(other.key, record.key) && IsNewer(other.key, record.key);
    });
    if (is_superseded) continue;
    chosen.push_back(record);
    chosen.back().timings->samples_ns.clear();
  }
  return chosen;
}

std::string SealPack(std::string_view lines) {
  std::string text = FormatLine(kPackFormat);
  text += lines;
  return text + EndLine(text);
}

std::string WritePack(const Pack& pack) {
  std::vector<const Workload*> workloads;
  std::vector<const TuningRecord*> records;
  for (const Workload& workload : pack.workloads) workloads.push_back(&workload);
  for (const TuningRecord& record : pack.records) records.push_back(&record);
  std::ranges::sort(workloads, {}, [](const Workload* workload) { return workload->digest; });
  std::ranges::sort(records, {}, [](const TuningRecord* record) { return record->key; });
  std::string lines;
  for (const Workload* workload : workloads) lines += WorkloadLine(*workload);
  for (const TuningRecord* record : records) lines += RecordLineOf(*record);
  return SealPack(lines);
}

StatusOr<Pack> ReadPack(std::string_view text) {
  RETURN_IF_ERROR(CheckWhole(text));
  text.remove_suffix(kEndBytes);
  Reader reader;
  int64_t number = 1;
  for (size_t at = text.find('\n') + 1; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const Status status = reader.AddLine(text.substr(at, end - at));
    ++number;
    if (!status.ok()) return status.WithContext(fmt::format("line {}", number));
    at = end + 1;
  }
  return reader.Take();
}

bool IsPack(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string begin(kBegin.size(), '\0');
  in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return in.gcount() == static_cast<std::streamsize>(begin.size()) && begin == kBegin;
}

StatusOr<std::unique_ptr<SqliteStore>> OpenSchedules(const std::string& path) {
  if (!IsPack(path)) return SqliteStore::OpenReadOnly(path);
  StatusOr<std::unique_ptr<SqliteStore>> store = LoadPack(path);
  if (!store.ok()) return store.status().WithContext("read pack " + path);
  return store;
}

}  // namespace lathe
