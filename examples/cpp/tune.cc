// Tunes the kernel of a file on a server, shows how it gets on, and asks for the best: tune SERVER DEVICE_KEY FUNC.py
// TRIALS
#include <lathe/client.h>

#include <fstream>
#include <iostream>
#include <iterator>

namespace {

using lathe::client::Best;
using lathe::client::Client;
using lathe::client::Error;
using lathe::client::Job;

int Fail(const Error& error) {
  std::cerr << error.message << "\n";
  return 1;
}

std::string Read(const char* path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::cerr << "usage: tune SERVER DEVICE_KEY FUNC.py TRIALS\n", 2;
  const std::string server = argv[1], device = argv[2];
  Client client(server);
  const auto submitted =
      client.Submit({.tasks = {{.workload = Read(argv[3])}}, .device = device, .trials = std::atoll(argv[4])});
  if (const auto* error = std::get_if<Error>(&submitted)) return Fail(*error);
  const int64_t id = std::get<Job>(submitted).id;
  const auto watched = client.Watch(id, [](const lathe::client::Update& update) {
    std::cout << update.job.tasks[0].trials_known << " trials\n";
    return true;
  });
  if (const auto* error = std::get_if<Error>(&watched)) return Fail(*error);
  const lathe::client::Task& task = std::get<Job>(watched).tasks[0];
  const std::vector<std::string> workloads = {task.workload};
  const auto best = client.QueryBest(workloads, task.target, device);
  if (const auto* error = std::get_if<Error>(&best)) return Fail(*error);
  const Best& answer = std::get<std::vector<Best>>(best)[0];
  std::cout << (answer.lookup == lathe::client::Lookup::kHit ? "HIT " : "MISS ") << answer.median_ns.value_or(0)
            << " ns\n";
  return 0;
}
