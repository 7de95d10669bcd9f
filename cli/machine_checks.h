// What `lathe doctor` finds about this machine. Reading and judging are apart, so that judging can be tested anywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

enum class Verdict {
  kOk,
  kWarning,
  kProblem
};  // A warning disturbs measuring; a problem keeps something from working.

struct Check {
  std::string name;
  Verdict verdict = Verdict::kOk;
  std::string finding;
  std::string advice;  // Empty if there is nothing to do.
};

struct MachineFacts {
  int num_cpus = 1;  // That this process may use.
  std::string cpu_model;
  std::vector<std::string> cpu_features;
  std::string governor;  // Of cpu0; empty: the kernel shows none, as in most virtual machines.
  std::optional<bool> smt_active;
  std::optional<double> load_1min;
  std::optional<int64_t> memory_available_bytes;
  std::optional<int64_t> disk_free_bytes;  // Where the database lies, or will.
};

// `root` is "/" but in tests. `database_folder` need not exist.
MachineFacts ReadMachine(const std::string& root, const std::string& database_folder);
std::vector<Check> JudgeMachine(const MachineFacts& facts);

}  // namespace lathe
