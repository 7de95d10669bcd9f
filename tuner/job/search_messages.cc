#include "tuner/job/search_messages.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kMostTrialsAtOnce = 4096, kMostFinalistsAtOnce = 64, kMostOutputs = 1024;

Status Refuse(std::string_view what) { return InvalidArgument(fmt::format("read a search's message: {}", what)); }

v1::SearchMeasurement ToMessage(const TaskMeasurement& measurement) {
  v1::SearchMeasurement message;
  message.set_kernel(measurement.kernel);
  message.set_reference(std::string(measurement.reference.blob.raw()));
  message.set_reference_bytes(measurement.reference.size_bytes);
  for (const double tolerance : measurement.reference.tolerances) message.add_tolerances(tolerance);
  for (const auto& [param, range] : measurement.reference.input_ranges) {
    v1::SearchRange& each = *message.add_input_ranges();
    each.set_param(param);
    each.set_low(range.low);
    each.set_high(range.high);
  }
  message.set_seed(measurement.seed);
  message.set_threads(measurement.threads);
  message.set_codegen_version(measurement.codegen_version);
  return message;
}

StatusOr<TaskMeasurement> FromMessage(const v1::SearchMeasurement& message, const MeasurePolicy& policy) {
  if (message.tolerances_size() > kMostOutputs || message.input_ranges_size() > kMostOutputs ||
      message.reference_bytes() < 0 || message.threads() < 1)
    return Refuse("a measurement with amounts that cannot be");
  TaskMeasurement measurement{.kernel = message.kernel(),
                              .seed = message.seed(),
                              .policy = policy,
                              .threads = message.threads(),
                              .codegen_version = message.codegen_version()};
  ASSIGN_OR_RETURN(measurement.reference.blob, Digest::FromBytes(message.reference()));
  measurement.reference.size_bytes = message.reference_bytes();
  measurement.reference.tolerances.assign(message.tolerances().begin(), message.tolerances().end());
  for (const double tolerance : measurement.reference.tolerances) {
    if (!std::isfinite(tolerance) || tolerance < 0) return Refuse(fmt::format("a tolerance of {}", tolerance));
  }
  for (const v1::SearchRange& each : message.input_ranges()) {
    if (each.low() > each.high()) return Refuse("an input range whose end is before its begin");
    measurement.reference.input_ranges.push_back({each.param(), {each.low(), each.high()}});
  }
  return measurement;
}

v1::SearchFinalist ToMessage(const NewFinalist& finalist) {
  v1::SearchFinalist message;
  message.set_trace_digest(std::string(finalist.trace_digest.raw()));
  message.set_trace_json(finalist.trace_json);
  message.set_seed(finalist.seed);
  if (finalist.module_digest) message.set_module_digest(std::string(finalist.module_digest->raw()));
  return message;
}

// A trace is named by its digest everywhere, so the name must be right.
StatusOr<Digest> CheckTrace(const std::string& digest, const std::string& json) {
  ASSIGN_OR_RETURN(const Digest named, Digest::FromBytes(digest));
  if (Sha256(json) != named) return Refuse("a trace that has another digest");
  return named;
}

StatusOr<NewFinalist> FromMessage(const v1::SearchFinalist& message) {
  NewFinalist finalist{.trace_json = message.trace_json(), .seed = message.seed()};
  ASSIGN_OR_RETURN(finalist.trace_digest, CheckTrace(message.trace_digest(), message.trace_json()));
  if (message.module_digest().empty()) return finalist;
  ASSIGN_OR_RETURN(finalist.module_digest, Digest::FromBytes(message.module_digest()));
  return finalist;
}

v1::SearchOutcome OutcomeOf(const TuningRecord& record) {
  v1::SearchOutcome message;
  message.set_trace_digest(std::string(record.trace_digest.raw()));
  message.set_state(static_cast<int32_t>(record.status));
  if (!record.timings) return message;
  message.set_is_timed(true);
  message.set_median_ns(record.timings->median_ns);
  message.set_ci_low_ns(record.timings->ci_low_ns);
  message.set_ci_high_ns(record.timings->ci_high_ns);
  return message;
}

// Of a record no more than what finals ask for.
StatusOr<TuningRecord> FromMessage(const v1::SearchOutcome& message) {
  TuningRecord record;
  ASSIGN_OR_RETURN(record.trace_digest, Digest::FromBytes(message.trace_digest()));
  if (message.state() < 0 || message.state() >= kTrialStateCount) return Refuse("a state of trials that is none");
  record.status = static_cast<TrialState>(message.state());
  if (HasTimings(record.status) != message.is_timed()) return Refuse("an outcome whose state and times disagree");
  if (!message.is_timed()) return record;
  for (const double time : {message.median_ns(), message.ci_low_ns(), message.ci_high_ns()}) {
    if (!std::isfinite(time) || time < 0) return Refuse(fmt::format("a time of {} ns", time));
  }
  record.timings =
      Timings{.median_ns = message.median_ns(), .ci_low_ns = message.ci_low_ns(), .ci_high_ns = message.ci_high_ns()};
  return record;
}

}  // namespace

void AppendSearchMessage(const google::protobuf::MessageLite& message, std::string& stream) {
  const std::string bytes = message.SerializeAsString();
  const auto size = static_cast<uint32_t>(bytes.size());
  stream.append(reinterpret_cast<const char*>(&size), sizeof(size));
  stream.append(bytes);
}

StatusOr<bool> TakeSearchMessage(std::string& stream, google::protobuf::MessageLite& message) {
  uint32_t size = 0;
  if (stream.size() < sizeof(size)) return false;
  std::memcpy(&size, stream.data(), sizeof(size));
  if (size > kMostSearchMessageBytes)
    return DataLoss(fmt::format("read a search's message: {} bytes, at most {}", size, kMostSearchMessageBytes));
  if (stream.size() < sizeof(size) + size) return false;
  const bool is_whole = message.ParseFromArray(stream.data() + sizeof(size), static_cast<int>(size));
  stream.erase(0, sizeof(size) + size);
  if (!is_whole) return DataLoss("read a search's message: no protobuf message");
  return true;
}

v1::SearchStatus ToMessage(const Status& status) {
  v1::SearchStatus message;
  message.set_code(static_cast<int32_t>(status.code()));
  message.set_message(status.message());
  return message;
}

Status FromMessage(const v1::SearchStatus& status) {
  if (status.code() == 0) return OkStatus();
  const bool is_known = status.code() > 0 && status.code() <= 16;
  return Status(is_known ? static_cast<StatusCode>(status.code()) : StatusCode::kUnknown, status.message());
}

v1::SearchPrepared ToMessage(size_t task, const StatusOr<PreparedTask>& prepared) {
  v1::SearchPrepared message;
  message.set_task(static_cast<uint32_t>(task));
  *message.mutable_status() = ToMessage(prepared.status());
  if (!prepared.ok()) return message;
  *message.mutable_measurement() = ToMessage(prepared->measurement);
  message.set_untuned_trace(std::string(prepared->untuned_trace.raw()));
  message.set_flops(prepared->flops);
  message.set_is_float32(prepared->is_float32);
  message.set_untuned_ns(prepared->untuned_ns);
  message.set_best_ns(prepared->best_ns);
  return message;
}

StatusOr<StatusOr<PreparedTask>> FromMessage(const v1::SearchPrepared& message) {
  if (const Status status = FromMessage(message.status()); !status.ok()) return StatusOr<PreparedTask>(status);
  for (const double amount : {message.flops(), message.untuned_ns(), message.best_ns()}) {
    if (!std::isfinite(amount) || amount < 0) return Refuse(fmt::format("an amount of {}", amount));
  }
  PreparedTask prepared{.flops = message.flops(),
                        .is_float32 = message.is_float32(),
                        .untuned_ns = message.untuned_ns(),
                        .best_ns = message.best_ns()};
  ASSIGN_OR_RETURN(prepared.measurement, FromMessage(message.measurement(), ScreenPolicy()));
  ASSIGN_OR_RETURN(prepared.untuned_trace, Digest::FromBytes(message.untuned_trace()));
  return StatusOr<PreparedTask>(std::move(prepared));
}

v1::SearchFinalists ToMessage(size_t task, const StatusOr<PreparedFinals>& finals) {
  v1::SearchFinalists message;
  message.set_task(static_cast<uint32_t>(task));
  *message.mutable_status() = ToMessage(finals.status());
  if (!finals.ok()) return message;
  const bool has_any = !finals->finalists.empty() || finals->known;
  if (has_any) *message.mutable_measurement() = ToMessage(finals->measurement);
  for (const NewFinalist& finalist : finals->finalists) *message.add_finalists() = ToMessage(finalist);
  for (const TuningRecord& record : finals->rounds) *message.add_rounds() = OutcomeOf(record);
  if (!finals->known) return message;
  *message.mutable_known() = ToMessage(NewFinalist{finals->known->trace_digest, finals->known->trace_json,
                                                   finals->known->seed, finals->known->module_digest});
  *message.mutable_known_outcome() = OutcomeOf(*finals->known);
  return message;
}

StatusOr<StatusOr<PreparedFinals>> FromMessage(const v1::SearchFinalists& message) {
  if (const Status status = FromMessage(message.status()); !status.ok()) return StatusOr<PreparedFinals>(status);
  if (message.finalists_size() > kMostFinalistsAtOnce) return Refuse("too many finalists");
  PreparedFinals finals;
  for (const v1::SearchFinalist& each : message.finalists()) {
    ASSIGN_OR_RETURN(NewFinalist finalist, FromMessage(each));
    finals.finalists.push_back(std::move(finalist));
  }
  for (const v1::SearchOutcome& each : message.rounds()) {
    ASSIGN_OR_RETURN(TuningRecord record, FromMessage(each));
    finals.rounds.push_back(std::move(record));
  }
  if (message.has_known()) {
    ASSIGN_OR_RETURN(const NewFinalist known, FromMessage(message.known()));
    ASSIGN_OR_RETURN(finals.known, FromMessage(message.known_outcome()));
    if (!finals.known->timings) return Refuse("a best that has no time");
    finals.known->trace_digest = known.trace_digest;
    finals.known->trace_json = known.trace_json;
    finals.known->seed = known.seed;
    finals.known->module_digest = known.module_digest;
  }
  if (finals.finalists.empty() && !finals.known) return StatusOr<PreparedFinals>(std::move(finals));
  ASSIGN_OR_RETURN(finals.measurement, FromMessage(message.measurement(), FinalPolicy()));
  return StatusOr<PreparedFinals>(std::move(finals));
}

v1::SearchNewTrials ToMessage(size_t task, std::span<const NewTrial> trials) {
  v1::SearchNewTrials message;
  message.set_task(static_cast<uint32_t>(task));
  for (const NewTrial& trial : trials) {
    v1::SearchNewTrial& each = *message.add_trials();
    each.set_trace_digest(std::string(trial.trace_digest.raw()));
    each.set_trace_json(trial.trace_json);
    each.set_predicted_score(trial.predicted_score.value_or(0));
    each.set_seed(trial.seed);
  }
  return message;
}

StatusOr<std::vector<NewTrial>> FromMessage(const v1::SearchNewTrials& message) {
  if (message.trials_size() > kMostTrialsAtOnce) return Refuse(fmt::format("{} trials at once", message.trials_size()));
  std::vector<NewTrial> trials;
  for (const v1::SearchNewTrial& each : message.trials()) {
    if (!std::isfinite(each.predicted_score())) return Refuse("a score that is no number");
    ASSIGN_OR_RETURN(const Digest digest, CheckTrace(each.trace_digest(), each.trace_json()));
    trials.push_back({digest, each.trace_json(), each.predicted_score(), each.seed()});
  }
  return trials;
}

v1::SearchObserve ToMessage(size_t task, const MeasuredCandidate& measured) {
  v1::SearchObserve message;
  message.set_task(static_cast<uint32_t>(task));
  message.set_trace_digest(std::string(measured.trace_digest.raw()));
  message.set_trace_json(measured.trace_json);
  const bool is_timed = measured.outcome == MeasuredCandidate::Outcome::kTimed;
  const bool is_censored = measured.outcome == MeasuredCandidate::Outcome::kCensored;
  message.set_outcome(is_timed      ? v1::SearchObserve::OUTCOME_TIMED
                      : is_censored ? v1::SearchObserve::OUTCOME_CENSORED
                                    : v1::SearchObserve::OUTCOME_FAILED);
  message.set_median_ns(measured.median_ns);
  return message;
}

StatusOr<MeasuredCandidate> FromMessage(const v1::SearchObserve& message) {
  MeasuredCandidate measured{.trace_json = message.trace_json(), .median_ns = message.median_ns()};
  ASSIGN_OR_RETURN(measured.trace_digest, Digest::FromBytes(message.trace_digest()));
  if (message.outcome() == v1::SearchObserve::OUTCOME_TIMED) measured.outcome = MeasuredCandidate::Outcome::kTimed;
  if (message.outcome() == v1::SearchObserve::OUTCOME_CENSORED)
    measured.outcome = MeasuredCandidate::Outcome::kCensored;
  return measured;
}

v1::SearchModelRound ToMessage(int64_t task_id, const ModelRound& round) {
  v1::SearchModelRound message;
  message.set_task_id(task_id);
  message.set_trials(round.trials);
  message.set_batch(round.batch);
  message.set_rows(round.rows);
  message.set_pairs(round.pairs);
  message.set_pairs_right(round.pairs_right);
  message.set_regret_at_1(round.regret_at_1);
  message.set_regret_at_8(round.regret_at_8);
  message.set_refitted(round.refitted);
  message.set_trees(round.trees);
  message.set_draft_weight(round.draft_weight);
  return message;
}

ModelRound FromMessage(const v1::SearchModelRound& message) {
  return {.trials = message.trials(),
          .batch = message.batch(),
          .rows = message.rows(),
          .pairs = message.pairs(),
          .pairs_right = message.pairs_right(),
          .regret_at_1 = message.regret_at_1(),
          .regret_at_8 = message.regret_at_8(),
          .refitted = message.refitted(),
          .trees = message.trees(),
          .draft_weight = message.draft_weight()};
}

}  // namespace lathe
