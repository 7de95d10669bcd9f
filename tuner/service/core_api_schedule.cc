// CoreApi's ScheduleApi.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "compiler/target/target.h"
#include "support/status_macros.h"
#include "tuner/database/records_json.h"
#include "tuner/service/core_api.h"
#include "tuner/service/request_fields.h"
#include "tuner/service/row_messages.h"

namespace lathe {
namespace {

constexpr int kMaxQueries = 1000;
constexpr size_t kMaxAskedText = kMaxMessageBytes / 4;  // A page that is nearly full has room for one more.

StatusOr<Digest> ReadWorkloadOf(const v1::BestQuery& query, const std::string& place) {
  if (query.workload_case() != v1::BestQuery::kText) return ReadDigest(place + ".digest", query.digest());
  ASSIGN_OR_RETURN(const Workload workload, ReadWorkload(place + ".text", query.text()));
  return workload.digest;
}

StatusOr<TuningKey> ReadKey(const v1::BestQuery& query, int index) {
  const std::string place = fmt::format("queries[{}]", index);
  ASSIGN_OR_RETURN(const Digest workload, ReadWorkloadOf(query, place));
  ASSIGN_OR_RETURN(std::string target, ReadName(place + ".target", query.target(), 4096));
  ASSIGN_OR_RETURN(std::string device_key, ReadName(place + ".device_key", query.device_key(), 64));
  ASSIGN_OR_RETURN(const int64_t policy_version, ReadCount(place + ".policy_version", query.policy_version()));
  TuningKey key = KeyFor(workload, std::move(target), std::move(device_key));
  if (policy_version > 0) key.policy_version = policy_version;
  if (!query.cache_regime().empty()) key.cache_regime = query.cache_regime();
  if (!query.codegen_version().empty()) {
    ASSIGN_OR_RETURN(key.codegen_version, CodegenVersion::Parse(query.codegen_version()));
  }
  return key;
}

StatusOr<AskedWorkload> ReadAsked(const v1::AskedWorkload& message, const std::string& place) {
  AskedWorkload asked;
  if (message.workload().text().size() > kMaxAskedText)
    return InvalidArgument(fmt::format("{}.workload.text: {} bytes, at most {} allowed", place,
                                       message.workload().text().size(), kMaxAskedText));
  ASSIGN_OR_RETURN(asked.workload, ReadWorkload(place + ".workload.text", message.workload().text()));
  ASSIGN_OR_RETURN(asked.target, ReadName(place + ".target", message.target(), 4096));
  ASSIGN_OR_RETURN(const Target target, Target::Parse(asked.target));
  if (target.ToString() != asked.target)
    return InvalidArgument(
        fmt::format("{}.target: \"{}\", its canonical text \"{}\" required", place, asked.target, target.ToString()));
  ASSIGN_OR_RETURN(asked.network, ReadName(place + ".network", message.network(), 256));
  ASSIGN_OR_RETURN(asked.weight, ReadCount(place + ".weight", message.weight()));
  asked.weight = std::max<int64_t>(asked.weight, 1);
  return asked;
}

}  // namespace

StatusOr<v1::QueryBestResponse> CoreApi::QueryBest(const v1::QueryBestRequest& request) {
  if (request.queries().empty() || request.queries_size() > kMaxQueries) {
    return InvalidArgument(fmt::format("queries: {} given, 1 to {} required", request.queries_size(), kMaxQueries));
  }
  std::vector<TuningKey> keys;
  for (int i = 0; i < request.queries_size(); ++i) {
    ASSIGN_OR_RETURN(TuningKey key, ReadKey(request.queries(i), i));
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
  if (found.empty())
    return NotFound(
        fmt::format("workload {}: none with that hash; `lathe best` lists what is known", request.hex_prefix()));
  if (found.size() > 1) {
    return InvalidArgument(fmt::format("workload {}: {} begin so, {} and {} among them; give more digits",
                                       request.hex_prefix(), found.size(), found[0].ToHex(), found[1].ToHex()));
  }
  ASSIGN_OR_RETURN(const Workload workload, core_.store().GetWorkload(found.front()));
  v1::FindWorkloadResponse response;
  *response.mutable_workload() = ToMessage(workload);
  return response;
}

StatusOr<v1::ListWorkloadsResponse> CoreApi::ListWorkloads(const v1::ListWorkloadsRequest& request) {
  ASSIGN_OR_RETURN(const Page page, ReadPage(request.page_size(), ""));
  std::optional<Digest> after;
  if (!request.page_token().empty()) {
    const StatusOr<Digest> last = Digest::FromHex(request.page_token());
    if (!last.ok())
      return InvalidArgument(fmt::format("page_token \"{}\": not one that this service gave; begin with an empty one",
                                         request.page_token()));
    after = *last;
  }
  ASSIGN_OR_RETURN(const std::vector<Workload> workloads, core_.store().ListWorkloads(after, page.limit));
  v1::ListWorkloadsResponse response;
  for (const Workload& workload : workloads) {
    v1::Workload& listed = *response.add_workloads();
    listed.set_digest(std::string(workload.digest.raw()));
    listed.set_name(workload.name);
  }
  if (static_cast<int>(workloads.size()) == page.limit) response.set_next_page_token(workloads.back().digest.ToHex());
  return response;
}

StatusOr<v1::ImportRecordsResponse> CoreApi::ImportRecords(const v1::ImportRecordsRequest& request) {
  std::istringstream lines(request.lines());
  ASSIGN_OR_RETURN(const TransferCounts counts, lathe::ImportRecords(core_.store(), lines));
  v1::ImportRecordsResponse response;
  response.set_workloads(counts.workloads);
  response.set_records(counts.records);
  response.set_new_records(counts.new_records);
  return response;
}

StatusOr<v1::ReportAskedResponse> CoreApi::ReportAsked(const v1::ReportAskedRequest& request) {
  if (request.asked().empty() || request.asked_size() > kMaxQueries)
    return InvalidArgument(fmt::format("asked: {} given, 1 to {} required", request.asked_size(), kMaxQueries));
  std::vector<AskedWorkload> asked;
  for (int i = 0; i < request.asked_size(); ++i) {
    ASSIGN_OR_RETURN(AskedWorkload one, ReadAsked(request.asked(i), fmt::format("asked[{}]", i)));
    asked.push_back(std::move(one));
  }
  RETURN_IF_ERROR(core_.store().RecordAsked(asked));
  return v1::ReportAskedResponse();
}

StatusOr<v1::ListAskedResponse> CoreApi::ListAsked(const v1::ListAskedRequest& request) {
  ASSIGN_OR_RETURN(const Page page, ReadPage(request.page_size(), request.page_token()));
  ASSIGN_OR_RETURN(const std::vector<AskedRow> rows,
                   core_.store().ListAsked(request.target(), {page.after_id, page.limit + 1}));
  v1::ListAskedResponse response;
  size_t bytes = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (response.asked_size() == page.limit || bytes > kPageBytes) {
      response.set_next_page_token(PageToken(rows[i - 1].id));
      break;
    }
    *response.add_asked() = ToMessage(rows[i]);
    bytes += response.asked().rbegin()->ByteSizeLong();
  }
  return response;
}

}  // namespace lathe
