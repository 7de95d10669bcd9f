// A pack: the best schedules of chosen workloads and targets in one small text file, for builds that ask no server
// (docs/formats/pack.md). The same schedules are the same bytes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/database/sqlite_store.h"

namespace lathe {

struct Pack {
  std::vector<Workload> workloads;
  std::vector<TuningRecord> records;  // Without samples.
};

// Of the best records of one workload (Store::ListBest), those that a pack for these targets holds: timed, and of the
// newest versions under each target, device class and cache regime. Pure.
std::vector<TuningRecord> ChooseForPack(std::span<const TuningRecord> best, std::span<const std::string> targets);

// In any order, each workload and each key once. Pure.
std::string WritePack(const Pack& pack);
// InvalidArgument or DataLoss unless it is whole, of this version, and every record's workload is in it. Pure.
StatusOr<Pack> ReadPack(std::string_view text);
// Lines between the first and the last, with both of these: what a pack ends with is the digest of what is before it.
std::string SealPack(std::string_view lines);

// Whether the file at `path` begins as a pack does.
bool IsPack(const std::string& path);

// A database beside its owner, or a pack as a database in memory, whichever `path` is. Read-only. kNotFound if nothing
// is there.
StatusOr<std::unique_ptr<SqliteStore>> OpenSchedules(const std::string& path);

}  // namespace lathe
