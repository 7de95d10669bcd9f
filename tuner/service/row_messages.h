// Rows of the Store as messages of lathe.v1. Pure.
#pragma once

#include <span>

#include "proto/lathe/v1/farm.pb.h"
#include "proto/lathe/v1/identity.pb.h"
#include "proto/lathe/v1/schedule.pb.h"
#include "proto/lathe/v1/tuning.pb.h"
#include "tuner/job/task_explanation.h"
#include "tuner/service/tuning_core.h"

namespace lathe {

v1::TuningKey ToMessage(const TuningKey& key);
v1::Workload ToMessage(const Workload& workload);
v1::Record ToMessage(const TuningRecord& record);
v1::AskedWorkload ToMessage(const AskedRow& row);
v1::Lookup ToMessage(Lookup lookup);
v1::JobState ToMessage(JobState state);
v1::Job ToMessage(const JobRow& job);  // Without tasks.
void SetHindrance(v1::Job& job, const Hindrance& hindrance);
v1::Task ToMessage(const TaskRow& task, const TaskCounts& counts);  // Without what its key knows.
v1::Trial ToMessage(const TrialRow& trial, bool with_trace);
v1::TaskExplanation ToMessage(const TaskRow& task, const TaskExplanation& told);
v1::Attempt ToMessage(const AttemptRow& attempt);
v1::JobEvent ToMessage(const EventRow& event);
v1::DeviceService ToMessage(DeviceService service);
// `granted`: of all devices. Whether a device is online follows from when it was last seen.
v1::Device ToMessage(const DeviceRow& device, std::span<const LeaseRow> granted, int64_t now_unix_ns);
// What the coordinator knows of it now.
void AddStanding(v1::Device& message, const DeviceStanding& standing);
v1::Standing ToMessage(Standing standing);
v1::Invitation ToMessage(const InvitationRow& invitation);
v1::Certificate ToMessage(const CertificateRow& certificate);
v1::Token ToMessage(const TokenRow& token);

}  // namespace lathe
