#include "tuner/job/golden_builds.h"

namespace lathe {

const GoldenModule* GoldenBuilds::Get(const GoldenFor& what) {
  const Entry& entry = of_[what];
  return entry.module ? &*entry.module : nullptr;
}

std::optional<GoldenFor> GoldenBuilds::Next(TimePoint now) const {
  for (const auto& [what, entry] : of_)
    if (!entry.module && entry.id == 0 && entry.at <= now) return what;
  return std::nullopt;
}

void GoldenBuilds::Begun(const GoldenFor& what, int64_t id, const std::string& worker, TimePoint due) {
  Entry& entry = of_[what];
  entry.id = id;
  entry.worker = worker;
  entry.at = due;
}

GoldenBuilds::Entry* GoldenBuilds::Find(int64_t id) {
  for (auto& [what, entry] : of_)
    if (entry.id == id) return &entry;
  return nullptr;
}

void GoldenBuilds::Failed(int64_t id, TimePoint now) {
  Entry* entry = Find(id);
  if (entry == nullptr) return;
  entry->id = 0;
  entry->at = now + kRetryAfter;
}

void GoldenBuilds::WorkerLost(const std::string& worker) {
  for (auto& [what, entry] : of_) {
    if (entry.id == 0 || entry.worker != worker) continue;
    entry.id = 0;
    entry.at = {};
  }
}

bool GoldenBuilds::Built(int64_t id, const GoldenModule& module) {
  Entry* entry = Find(id);
  if (entry == nullptr) return false;
  entry->id = 0;
  entry->module = module;
  return true;
}

void GoldenBuilds::Lost(const GoldenFor& what) { of_[what] = {}; }

std::vector<int64_t> GoldenBuilds::GiveUpDue(TimePoint now) {
  std::vector<int64_t> due;
  for (const auto& [what, entry] : of_)
    if (entry.id != 0 && entry.at <= now) due.push_back(entry.id);
  for (const int64_t id : due) Failed(id, now);
  return due;
}

std::optional<TimePoint> GoldenBuilds::NextDeadline(TimePoint now) const {
  std::optional<TimePoint> next;
  for (const auto& [what, entry] : of_) {
    if (entry.module || entry.at <= now) continue;  // What may begin waits for a worker.
    if (!next || entry.at < *next) next = entry.at;
  }
  return next;
}

}  // namespace lathe
