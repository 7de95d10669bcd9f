// A job and its tasks as a table for people.
#pragma once

#include <string>

#include "proto/lathe/v1/tuning.pb.h"

namespace lathe {

std::string RenderJob(const v1::Job& job);
// "31/64 trials, best 23.1 us (matmul)": one line about how far it is.
std::string RenderProgress(const v1::Job& job);

}  // namespace lathe
