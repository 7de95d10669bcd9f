#include "tuner/service/row_messages.h"

#include "tracker/device_registry.h"
#include "tuner/job/job_spec.h"

namespace lathe {
namespace {

v1::DeviceState StateAfterSilence(Duration silence) {
  if (silence < kSuspectAfter) return v1::DEVICE_STATE_ONLINE;
  return silence < kLostAfter ? v1::DEVICE_STATE_SUSPECT : v1::DEVICE_STATE_LOST;
}

}  // namespace

v1::TuningKey ToMessage(const TuningKey& key) {
  v1::TuningKey message;
  message.set_workload(std::string(key.workload.raw()));
  message.set_target(key.target);
  message.set_device_key(key.device_class);
  message.set_cache_regime(key.cache_regime);
  message.set_codegen_version(key.codegen_version.ToString());
  message.set_policy_version(key.policy_version);
  return message;
}

v1::Workload ToMessage(const Workload& workload) {
  v1::Workload message;
  message.set_digest(std::string(workload.digest.raw()));
  message.set_name(workload.name);
  message.set_text(workload.text);
  return message;
}

v1::Record ToMessage(const TuningRecord& record) {
  v1::Record message;
  message.set_id(record.id);
  message.set_result_key(std::string(record.result_key.raw()));
  *message.mutable_key() = ToMessage(record.key);
  message.set_trace_digest(std::string(record.trace_digest.raw()));
  message.set_trace_json(record.trace_json);
  message.set_status(std::string(TrialStateName(record.status)));
  if (record.timings.has_value()) {
    v1::RecordTimings& timings = *message.mutable_timings();
    timings.set_median_ns(record.timings->median_ns);
    timings.set_min_ns(record.timings->min_ns);
    timings.set_p90_ns(record.timings->p90_ns);
    timings.set_mad_ns(record.timings->mad_ns);
    timings.set_ci_low_ns(record.timings->ci_low_ns);
    timings.set_ci_high_ns(record.timings->ci_high_ns);
    timings.set_runs(record.timings->runs);
  }
  message.set_device(record.device);
  message.set_environment(record.environment);
  message.set_error(record.error);
  message.set_committed_unix_ns(record.committed_unix_ns);
  return message;
}

v1::AskedWorkload ToMessage(const AskedRow& row) {
  v1::AskedWorkload message;
  *message.mutable_workload() = ToMessage(row.asked.workload);
  message.set_target(row.asked.target);
  message.set_network(row.asked.network);
  message.set_weight(row.asked.weight);
  message.set_times(row.times);
  message.set_first_unix_ns(row.first_unix_ns);
  message.set_last_unix_ns(row.last_unix_ns);
  return message;
}

v1::Lookup ToMessage(Lookup lookup) {
  switch (lookup) {
    case Lookup::kHit:
      return v1::LOOKUP_HIT;
    case Lookup::kStale:
      return v1::LOOKUP_STALE;
    case Lookup::kMiss:
      return v1::LOOKUP_MISS;
  }
  return v1::LOOKUP_UNSPECIFIED;
}

v1::JobState ToMessage(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return v1::JOB_STATE_QUEUED;
    case JobState::kRunning:
      return v1::JOB_STATE_RUNNING;
    case JobState::kDone:
      return v1::JOB_STATE_DONE;
    case JobState::kFailed:
      return v1::JOB_STATE_FAILED;
    case JobState::kCancelled:
      return v1::JOB_STATE_CANCELLED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

void SetHindrance(v1::Job& job, const Hindrance& hindrance) {
  switch (hindrance.kind) {
    case Hindrance::Kind::kWaits:
      job.set_waits_for(hindrance.what);
      job.set_detail("waits: " + hindrance.what);
      return;
    case Hindrance::Kind::kTrouble:
      job.set_trouble(hindrance.what);
      job.set_detail("trouble: " + hindrance.what);
      return;
  }
}

v1::Job ToMessage(const JobRow& job) {
  v1::Job message;
  message.set_id(job.id);
  message.set_request_id(job.request_id);
  message.set_name(job.name);
  message.set_state(ToMessage(job.state));
  if (IsTerminal(job.state))
    message.set_detail(job.detail);
  else if (!job.detail.empty())
    SetHindrance(message, {Hindrance::Kind::kWaits, job.detail});
  message.set_created_unix_ns(job.created_unix_ns);
  message.set_updated_unix_ns(job.updated_unix_ns);
  message.set_submitter(job.submitter);
  if (const StatusOr<JobSpec> spec = JobSpec::FromJson(job.spec); spec.ok()) message.set_space(spec->space);
  return message;
}

v1::Task ToMessage(const TaskRow& task, const TaskCounts& counts) {
  v1::Task message;
  message.set_id(task.id);
  message.set_name(task.name);
  *message.mutable_key() = ToMessage(task.key);
  message.set_weight(task.weight);
  message.set_trial_budget(task.trial_budget);
  message.set_state(ToMessage(task.state));
  message.set_trials_done(counts.trials_done);
  message.set_trials_open(counts.trials_open);
  for (const TrialState state : AllTrialStates()) {
    const int64_t trials = counts.by_state[static_cast<size_t>(state)];
    if (trials == 0) continue;
    v1::StateCount& count = *message.add_counts();
    count.set_state(std::string(TrialStateName(state)));
    count.set_trials(trials);
  }
  return message;
}

v1::Trial ToMessage(const TrialRow& trial, bool with_trace) {
  v1::Trial message;
  message.set_id(trial.id);
  message.set_task_id(trial.task_id);
  message.set_trace_digest(std::string(trial.trace_digest.raw()));
  if (with_trace) message.set_trace_json(trial.trace_json);
  message.set_state(std::string(TrialStateName(trial.state)));
  message.set_attempt(trial.attempt);
  message.set_infra_failures(trial.infra_failures);
  message.set_worker(trial.worker);
  message.set_error(trial.error);
  message.set_updated_unix_ns(trial.updated_unix_ns);
  message.set_final_round(trial.final_round);
  return message;
}

namespace {

v1::ModelRound ToMessage(const ModelRound& round) {
  v1::ModelRound message;
  message.set_trials(round.trials);
  message.set_at_unix_ns(round.at_unix_ns);
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

v1::SketchStory ToMessage(const SketchStory& sketch) {
  v1::SketchStory message;
  message.set_choices(sketch.choices);
  message.set_accepted(sketch.accepted);
  message.set_trials(sketch.trials);
  message.set_best_ns(sketch.best_ns);
  message.set_made_by(sketch.made_by);
  return message;
}

v1::DecisionStory ToMessage(const DecisionStory& decision) {
  v1::DecisionStory message;
  message.set_name(decision.name);
  message.set_chosen(decision.chosen);
  message.set_share(decision.share);
  for (const ValueStory& value : decision.values) {
    v1::ValueStory& one = *message.add_values();
    one.set_value(value.value);
    one.set_trials(value.trials);
    one.set_best_ns(value.best_ns);
    one.set_median_ns(value.median_ns);
  }
  return message;
}

v1::NeighbourStory ToMessage(const NeighbourStory& neighbour) {
  v1::NeighbourStory message;
  message.set_name(neighbour.name);
  message.set_chosen(neighbour.chosen);
  message.set_other(neighbour.other);
  message.set_median_ns(neighbour.median_ns);
  return message;
}

}  // namespace

v1::TaskExplanation ToMessage(const TaskRow& task, const TaskExplanation& told) {
  v1::TaskExplanation message;
  message.set_task_id(task.id);
  message.set_name(task.name);
  *message.mutable_key() = ToMessage(task.key);
  message.set_flops(told.flops);
  message.set_floor_ns(told.floor_ns);
  message.set_untuned_ns(told.untuned_ns);
  message.set_best_ns(told.best_ns);
  message.set_best_final_ns(told.best_final_ns);
  message.set_best_sketch(told.best_sketch);
  message.set_best_after(told.best_after);
  message.set_best_trace(told.best_trace);
  message.set_bound_by(told.bound_by);
  message.set_compute_share(told.compute_share);
  for (const SketchStory& sketch : told.sketches) *message.add_sketches() = ToMessage(sketch);
  for (const auto& [state, trials] : told.outcomes) {
    v1::StateCount& count = *message.add_outcomes();
    count.set_state(state);
    count.set_trials(trials);
  }
  for (const double ns : told.result_ns) message.add_result_ns(ns);
  for (const ModelRound& round : told.rounds) *message.add_rounds() = ToMessage(round);
  for (const DecisionStory& decision : told.decisions) *message.add_decisions() = ToMessage(decision);
  for (const NeighbourStory& neighbour : told.neighbours) *message.add_neighbours() = ToMessage(neighbour);
  return message;
}

v1::Attempt ToMessage(const AttemptRow& attempt) {
  v1::Attempt message;
  message.set_attempt(attempt.attempt);
  message.set_worker(attempt.worker);
  message.set_device(attempt.device);
  message.set_epoch(attempt.epoch);
  message.set_state(attempt.state);
  message.set_error(attempt.error);
  message.set_claimed_unix_ns(attempt.claimed_unix_ns);
  message.set_ended_unix_ns(attempt.ended_unix_ns);
  return message;
}

v1::JobEvent ToMessage(const EventRow& event) {
  v1::JobEvent message;
  message.set_cursor(event.cursor);
  message.set_at_unix_ns(event.at_unix_ns);
  message.set_kind(event.kind);
  message.set_subject_id(event.subject_id);
  message.set_detail(event.detail);
  return message;
}

v1::DeviceService ToMessage(DeviceService service) {
  switch (service) {
    case DeviceService::kInService:
      return v1::DEVICE_SERVICE_IN_SERVICE;
    case DeviceService::kDrained:
      return v1::DEVICE_SERVICE_DRAINED;
    case DeviceService::kQuarantined:
      return v1::DEVICE_SERVICE_QUARANTINED;
  }
  return v1::DEVICE_SERVICE_UNSPECIFIED;
}

v1::Device ToMessage(const DeviceRow& device, std::span<const LeaseRow> granted, int64_t now_unix_ns) {
  v1::Device message;
  message.set_name(device.name);
  message.set_key(device.device_class);
  message.set_state(StateAfterSilence(Duration(now_unix_ns - device.last_seen_unix_ns)));
  message.set_epoch(device.epoch);
  message.set_facts(device.facts);
  message.set_registered_unix_ns(device.registered_unix_ns);
  message.set_last_seen_unix_ns(device.last_seen_unix_ns);
  for (const LeaseRow& lease : granted) {
    if (lease.device_id != device.id) continue;
    message.set_lease_holder(lease.holder);
    message.set_lease_expires_unix_ns(lease.expires_unix_ns);
    message.set_reserved_by(std::string(ReservedBy(lease.holder)));
  }
  message.set_service(ToMessage(device.service.service));
  message.set_service_reason(device.service.reason);
  message.set_service_since_unix_ns(device.service_unix_ns);
  message.set_health(static_cast<v1::DeviceHealth>(static_cast<int>(device.health.state) + 1));
  message.set_health_words(device.health.words);
  message.set_golden_ns(device.health.golden_ns);
  message.set_checked_unix_ns(device.health.checked_unix_ns);
  message.set_probe_unix_ns(device.health.probe_unix_ns);
  return message;
}

void AddStanding(v1::Device& message, const DeviceStanding& standing) {
  static constexpr v1::DeviceState kStates[] = {v1::DEVICE_STATE_ONLINE, v1::DEVICE_STATE_SUSPECT,
                                                v1::DEVICE_STATE_STALLED, v1::DEVICE_STATE_LOST};
  message.set_state(kStates[static_cast<size_t>(standing.state)]);
  message.set_not_now(standing.not_now);
  if (!standing.health.empty()) message.set_health_words(standing.health);
  message.mutable_measuring()->Add(standing.measuring.begin(), standing.measuring.end());
}

v1::Standing ToMessage(Standing standing) {
  switch (standing) {
    case Standing::kInForce:
      return v1::STANDING_IN_FORCE;
    case Standing::kExpired:
      return v1::STANDING_EXPIRED;
    case Standing::kRevoked:
      return v1::STANDING_REVOKED;
    case Standing::kTaken:
      return v1::STANDING_TAKEN;
  }
  return v1::STANDING_UNSPECIFIED;
}

v1::Invitation ToMessage(const InvitationRow& invitation) {
  v1::Invitation message;
  message.set_id(invitation.id);
  message.set_role(std::string(RoleName(invitation.role)));
  message.set_name(invitation.name);
  message.set_created_unix_ns(invitation.created_unix_ns);
  message.set_expires_unix_ns(invitation.expires_unix_ns);
  message.set_standing(ToMessage(invitation.standing));
  return message;
}

v1::Certificate ToMessage(const CertificateRow& certificate) {
  v1::Certificate message;
  message.set_serial(std::string(certificate.serial.raw()));
  message.set_role(std::string(RoleName(certificate.subject.role)));
  message.set_name(certificate.subject.name);
  message.set_not_before_unix_ns(certificate.validity.not_before_unix_ns);
  message.set_not_after_unix_ns(certificate.validity.not_after_unix_ns);
  message.set_added_unix_ns(certificate.added_unix_ns);
  message.set_revoked_unix_ns(certificate.revoked_unix_ns.value_or(0));
  message.set_revoked_because(certificate.revoked_because);
  message.set_standing(ToMessage(certificate.standing));
  return message;
}

v1::Token ToMessage(const TokenRow& token) {
  v1::Token message;
  message.set_id(token.id);
  message.set_user(token.user);
  message.set_role(std::string(RoleName(token.role)));
  message.set_created_unix_ns(token.created_unix_ns);
  message.set_expires_unix_ns(token.expires_unix_ns);
  message.set_revoked_unix_ns(token.revoked_unix_ns.value_or(0));
  message.set_standing(ToMessage(token.standing));
  return message;
}

}  // namespace lathe
