// What a coordinator and the search of a job in a process of its own say to each other (proto/lathe/v1/search.proto,
// docs/formats/search_protocol.md). Pure: the search has read a stranger's program, so nothing that it says is believed
// unchecked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/lathe/v1/search.pb.h"
#include "support/status.h"
#include "tuner/job/job_searcher.h"

namespace lathe {

inline constexpr size_t kMostSearchMessageBytes = size_t{64} << 20;

void AppendSearchMessage(const google::protobuf::MessageLite& message, std::string& stream);
// Takes the first message off `stream`; false: it is not whole yet. DataLoss: the stream is of no more use.
StatusOr<bool> TakeSearchMessage(std::string& stream, google::protobuf::MessageLite& message);

v1::SearchStatus ToMessage(const Status& status);
Status FromMessage(const v1::SearchStatus& status);

v1::SearchPrepared ToMessage(size_t task, const StatusOr<PreparedTask>& prepared);
// InvalidArgument for what cannot be; else the search's own answer.
StatusOr<StatusOr<PreparedTask>> FromMessage(const v1::SearchPrepared& prepared);

v1::SearchFinalists ToMessage(size_t task, const StatusOr<PreparedFinals>& finals);
StatusOr<StatusOr<PreparedFinals>> FromMessage(const v1::SearchFinalists& finals);

v1::SearchNewTrials ToMessage(size_t task, std::span<const NewTrial> trials);
StatusOr<std::vector<NewTrial>> FromMessage(const v1::SearchNewTrials& trials);

v1::SearchObserve ToMessage(size_t task, const MeasuredCandidate& measured);
StatusOr<MeasuredCandidate> FromMessage(const v1::SearchObserve& measured);

v1::SearchModelRound ToMessage(int64_t task_id, const ModelRound& round);
ModelRound FromMessage(const v1::SearchModelRound& round);

}  // namespace lathe
