// A job and its tasks as a table for people.
#pragma once

#include <string>

#include "proto/lathe/v1/tuning.pb.h"

namespace lathe {

std::string RenderJob(const v1::Job& job);
// "job 3 RUNNING: 31 trials done, 8 open, 2 of 4 tasks have a time": one line about how far it is.
std::string RenderProgress(const v1::Job& job);

}  // namespace lathe
