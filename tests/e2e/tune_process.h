// `lathe tune` and other verbs as processes, and what they said.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/e2e/farm_processes.h"

namespace lathe {

struct Ended {
  int code = 0;
  nlohmann::json json;
  std::string words;  // On stderr.
};

class TuneTest : public FarmTest {
 protected:
  std::string File(const std::string& name, int n) {
    const std::string path = folder / (name + ".py");
    std::ofstream(path) << MatmulText(name, n);
    return path;
  }
  // `name` is of its log; without a place of its own it uses the test's database.
  std::unique_ptr<ChildProcess> Tune(const std::string& name, const std::string& file, int trials,
                                     std::vector<std::string> more = {}) {
    if (more.empty()) more = {"--db", database};
    std::vector<std::string> arguments{"lathe",  "tune", file,      "--trials", std::to_string(trials),
                                       "--cpus", "0",    "--slots", "2",        "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::filesystem::remove(folder / (name + ".log"));
    return std::make_unique<ChildProcess>(arguments, folder / (name + ".log"));
  }
  Ended Finish(ChildProcess& child, const std::string& name) {
    Ended ended;
    const std::string text = child.ReadAll();
    ended.json = nlohmann::json::parse(text, nullptr, false);
    ended.code = child.Wait();
    ended.words = TextOf(folder / (name + ".log"));
    return ended;
  }
  Ended RunTune(const std::string& file, int trials, std::vector<std::string> more = {}) {
    const auto child = Tune("tune", file, trials, std::move(more));
    return Finish(*child, "tune");
  }
  Ended Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "lathe");
    std::filesystem::remove(folder / "run.log");
    ChildProcess child(arguments, folder / "run.log");
    return Finish(child, "run");
  }
  // Trials that have their outcome.
  int64_t Done() {
    const auto store = SqliteStore::OpenReadOnly(database);
    if (!store.ok()) return 0;
    const auto trials = (*store)->ListTrials({}, {0, 100'000});
    if (!trials.ok()) return 0;
    return std::count_if(trials->begin(), trials->end(),
                         [](const TrialRow& trial) { return HasRecord(trial.state) && trial.final_round == 0; });
  }
  TuningKey KeyOfFirstTask() { return (*(*SqliteStore::OpenReadOnly(database))->ListTasks(1)).front().key; }
  void AwaitDone(int64_t count) {
    Until([&] { return Done() >= count; });
  }
  void AwaitJobs(size_t count) {
    Until([&] {
      const auto store = SqliteStore::OpenReadOnly(database);
      if (!store.ok()) return false;
      const auto jobs = (*store)->ListJobs({0, 1000});
      return jobs.ok() && jobs->size() >= count;
    });
  }
  // Each of these jobs has a built trial, which waits for a device or at one.
  void AwaitBuilt(const std::vector<int64_t>& jobs) {
    Until([&] {
      const auto store = SqliteStore::OpenReadOnly(database);
      return store.ok() && std::all_of(jobs.begin(), jobs.end(), [&](int64_t job) {
               const auto trials = (*store)->ListTrials(
                   {.job_id = job, .states = {TrialState::kMeasureQueued, TrialState::kAssigned}}, {0, 1});
               return trials.ok() && !trials->empty();
             });
    });
  }
  // It has said what it is about to do: from then on it obeys signals.
  void AwaitItsEstimate(const std::string& name) {
    Until([&] { return TextOf(folder / (name + ".log")).find("trials to measure") != std::string::npos; });
  }
};

}  // namespace lathe
