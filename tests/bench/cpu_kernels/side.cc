#include "tests/bench/cpu_kernels/side.h"

#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>

#include "runner/cache_flush.h"
#include "runtime/cpu_features.h"

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;

int64_t TimedCall(Side& side) {
  const Clock::time_point begin = Clock::now();
  side.Call();
  return std::chrono::nanoseconds(Clock::now() - begin).count();
}

nlohmann::json Run(Side& side, const nlohmann::json& request) {
  const int calls = request.at("calls");
  int64_t ns = 0;
  if (request.at("cold")) {
    CacheFlusher flusher(side.Memory(), {}, AvailableCpus().front());
    for (int i = 0; i < calls; ++i) {
      flusher.Flush();
      ns += TimedCall(side);
    }
  } else {
    const Clock::time_point begin = Clock::now();
    for (int i = 0; i < calls; ++i) side.Call();
    ns = std::chrono::nanoseconds(Clock::now() - begin).count();
  }
  return {{"ns", ns}};
}

nlohmann::json WriteOutput(Side& side, const nlohmann::json& request) {
  const std::span<const float> values = side.Output();
  std::ofstream out(request.at("file").get<std::string>(), std::ios::binary);
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  return {{"ok", out.good()}};
}

nlohmann::json Answered(Side& side, const nlohmann::json& request) {
  const std::string what = request.at("do");
  if (what == "run") return Run(side, request);
  if (what == "output") return WriteOutput(side, request);
  if (what != "open") return side.Answer(request);
  const std::string why = side.Open(request);
  return why.empty() ? nlohmann::json{{"ok", true}} : nlohmann::json{{"absent", why}};
}

}  // namespace

nlohmann::json Side::Answer(const nlohmann::json& request) {
  return {{"absent", "nobody asks that: " + request.dump()}};
}

int Serve(Side& side) {
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json answer;
    try {
      answer = Answered(side, nlohmann::json::parse(line));
    } catch (const std::exception& error) {
      answer = {{"absent", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

std::vector<std::byte> ReadBytes(const nlohmann::json& request, const std::string& name) {
  const std::string path = request.at("folder").get<std::string>() + "/" + name + ".bin";
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw std::runtime_error("no file " + path);
  std::vector<std::byte> bytes(static_cast<size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

std::vector<float> ReadTensor(const nlohmann::json& request, const std::string& name) {
  const std::vector<std::byte> bytes = ReadBytes(request, name);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace lathe
