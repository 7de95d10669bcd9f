// Care for a database file, beside its owner or without one: is it whole, and a copy of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/status.h"

namespace lathe {

struct VerifyReport {
  std::vector<std::string> problems;  // In words, at most 20 of a kind. Empty: the file is whole.
  int64_t records = 0, trials = 0;    // That were looked at.
};

// Reads all of the file: its pages and indices, what refers to what, texts against their digests, and what is kept
// counted against what is there. The error is that of opening it; damage is a problem.
StatusOr<VerifyReport> VerifyDatabase(const std::string& path);

// Copies the database as it is at one moment to `to`, which appears under its name when all of it is on the disk. Its
// owner goes on meanwhile. Returns the bytes. kInvalidArgument where OutputFile refuses `to`, e.g. for a database that
// is there.
StatusOr<int64_t> BackUpDatabase(const std::string& path, const std::string& to);

}  // namespace lathe
