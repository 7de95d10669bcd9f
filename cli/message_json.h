// Messages of lathe.v1 as the JSON that --json prints (docs/formats/cli_json.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "proto/lathe/v1/farm.pb.h"
#include "proto/lathe/v1/schedule.pb.h"
#include "proto/lathe/v1/tuning.pb.h"

namespace lathe {

nlohmann::ordered_json ToJson(const v1::Job& job, bool with_tasks);
nlohmann::ordered_json ToJson(const v1::Task& task);
nlohmann::ordered_json ToJson(const v1::Trial& trial);
nlohmann::ordered_json ToJson(const v1::JobEvent& event);
nlohmann::ordered_json ToJson(const v1::Record& record);
nlohmann::ordered_json ToJson(const v1::Device& device);
nlohmann::ordered_json ToJson(const v1::Worker& worker);
nlohmann::ordered_json ToJson(const v1::AskedWorkload& asked);
nlohmann::ordered_json ToJson(const v1::TaskExplanation& told);

std::string_view JobStateText(v1::JobState state);              // "RUNNING"
std::string_view DeviceStateText(v1::DeviceState state);        // "ONLINE"
std::string_view DeviceServiceText(v1::DeviceService service);  // "IN_SERVICE"
std::string_view DeviceHealthText(v1::DeviceHealth health);     // "PROBATION"
std::string HexOf(std::string_view digest);
// One document on stdout, with line breaks; or one line of a stream of them. Bytes that are no UTF-8 become U+FFFD.
void PrintJson(const nlohmann::ordered_json& json);
void PrintJsonLine(const nlohmann::ordered_json& json);

}  // namespace lathe
