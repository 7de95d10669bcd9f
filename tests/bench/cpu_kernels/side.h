// One side of the comparison (README.md): a process that makes one computation ready and runs it as often as it is
// told. Requests and answers are JSON objects, one a line:
//   {"do": "open", "kind": ..., "params": {...}, "folder": ..., "threads": n}   ->  {"ok": true} or {"absent": "why"}
//   {"do": "run", "calls": n, "cold": false}                                    ->  {"ns": time of all calls together}
//   {"do": "output", "file": ...}: writes the last call's output as float32     ->  {"ok": true}
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace lathe {

class Side {
 public:
  virtual ~Side() = default;
  // Makes `request` ready; why that cannot be done, "" if it is.
  virtual std::string Open(const nlohmann::json& request) = 0;
  virtual void Call() = 0;
  virtual std::span<const float> Output() const = 0;
  // Inputs and outputs: what a cold call does not find in a cache. Weights stay where the call before left them.
  virtual std::vector<std::span<std::byte>> Memory() = 0;
  // Questions of this side alone.
  virtual nlohmann::json Answer(const nlohmann::json& request);
};

// Serves stdin until it ends.
int Serve(Side& side);

// The float32 contents of FOLDER/NAME.bin; its bytes, of whatever type.
std::vector<float> ReadTensor(const nlohmann::json& request, const std::string& name);
std::vector<std::byte> ReadBytes(const nlohmann::json& request, const std::string& name);

}  // namespace lathe
