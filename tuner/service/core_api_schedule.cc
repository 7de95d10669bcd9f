// CoreApi's ScheduleApi.
#include <fmt/format.h>

#include <sstream>

#include "support/status_macros.h"
#include "tuner/database/records_json.h"
#include "tuner/service/core_api.h"
#include "tuner/service/request_fields.h"
#include "tuner/service/row_messages.h"

namespace lathe {
namespace {

constexpr int kMaxQueries = 1000;

StatusOr<TuningKey> ReadKey(const v1::BestQuery& query, int index, const KeyDefaults& defaults) {
  const std::string place = fmt::format("queries[{}]", index);
  TuningKey key;
  if (query.workload_case() == v1::BestQuery::kText) {
    ASSIGN_OR_RETURN(const Workload workload, ReadWorkload(place + ".text", query.text()));
    key.workload = workload.digest;
  } else {
    ASSIGN_OR_RETURN(key.workload, ReadDigest(place + ".digest", query.digest()));
  }
  ASSIGN_OR_RETURN(key.target, ReadName(place + ".target", query.target(), 4096));
  ASSIGN_OR_RETURN(key.device_class, ReadName(place + ".device_key", query.device_key(), 64));
  ASSIGN_OR_RETURN(key.policy_version, ReadCount(place + ".policy_version", query.policy_version()));
  if (key.policy_version == 0) key.policy_version = defaults.policy_version;
  key.cache_regime = query.cache_regime().empty() ? defaults.cache_regime : query.cache_regime();
  key.codegen_version = defaults.codegen_version;
  if (!query.codegen_version().empty()) {
    ASSIGN_OR_RETURN(key.codegen_version, CodegenVersion::Parse(query.codegen_version()));
  }
  return key;
}

}  // namespace

StatusOr<v1::QueryBestResponse> CoreApi::QueryBest(const v1::QueryBestRequest& request) {
  if (request.queries().empty() || request.queries_size() > kMaxQueries) {
    return InvalidArgument(fmt::format("queries: {} given, 1 to {} required", request.queries_size(), kMaxQueries));
  }
  const KeyDefaults defaults = core_.key_defaults();
  std::vector<TuningKey> keys;
  for (int i = 0; i < request.queries_size(); ++i) {
    ASSIGN_OR_RETURN(TuningKey key, ReadKey(request.queries(i), i, defaults));
    keys.push_back(std::move(key));
  }
  ASSIGN_OR_RETURN(const std::vector<BestAnswer> answers, core_.store().QueryBest(keys));
  v1::QueryBestResponse response;
  for (size_t i = 0; i < answers.size(); ++i) {
    v1::BestAnswer& answer = *response.add_answers();
    answer.set_lookup(ToMessage(answers[i].lookup));
    *answer.mutable_key() = ToMessage(keys[i]);
    if (answers[i].record.has_value()) *answer.mutable_record() = ToMessage(*answers[i].record);
    answer.set_explanation(answers[i].explanation);
  }
  return response;
}

StatusOr<v1::ListBestResponse> CoreApi::ListBest(const v1::ListBestRequest& request) {
  ASSIGN_OR_RETURN(const Digest workload, ReadDigest("workload", request.workload()));
  ASSIGN_OR_RETURN(const std::vector<TuningRecord> records, core_.store().ListBest(workload));
  v1::ListBestResponse response;
  for (const TuningRecord& record : records) *response.add_records() = ToMessage(record);
  return response;
}

StatusOr<v1::FindWorkloadResponse> CoreApi::FindWorkload(const v1::FindWorkloadRequest& request) {
  ASSIGN_OR_RETURN(const std::vector<Digest> found, core_.store().FindWorkloads(request.hex_prefix()));
  if (found.empty()) return NotFound(fmt::format("workload {}: none with that hash", request.hex_prefix()));
  if (found.size() > 1) {
    return InvalidArgument(fmt::format("workload {}: {} begin so, {} and {} among them; give more digits", request.hex_prefix(), found.size(),
                                       found[0].ToHex(), found[1].ToHex()));
  }
  ASSIGN_OR_RETURN(const Workload workload, core_.store().GetWorkload(found.front()));
  v1::FindWorkloadResponse response;
  *response.mutable_workload() = ToMessage(workload);
  return response;
}

StatusOr<v1::ImportRecordsResponse> CoreApi::ImportRecords(const v1::ImportRecordsRequest& request) {
  std::istringstream lines(request.lines());
  ASSIGN_OR_RETURN(const TransferCounts counts, lathe::ImportRecords(core_.store(), lines, SystemClock().UnixNanos()));
  v1::ImportRecordsResponse response;
  response.set_workloads(counts.workloads);
  response.set_records(counts.records);
  response.set_new_records(counts.new_records);
  return response;
}

}  // namespace lathe
