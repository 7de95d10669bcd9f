// A device process from its options to its end: locks its CPUs, keeps off them itself, serves until told to stop. Used
// by lathe-device and by `lathe device`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "proto/lathe/v1/device.pb.h"
#include "support/status.h"

namespace lathe {

class ProcessTrialRunnerFactory;

struct DeviceProgramOptions {
  std::string connect;  // "HOST:PORT" or "unix:PATH"; empty: where the machine has joined.
  std::string key = "local";
  std::vector<std::string> tags;  // Words, or NAME=VALUE.
  std::string name;               // Empty: what data_directory, if given, has joined as; else host name and first CPU.
  std::string cpus;               // "0-3,6"; empty: all that this process may use.
  std::string data_directory;     // Empty: device-NAME in the user's data folder.
  std::string identity_path;     // Empty: identity.pem in data_directory. No file there: connects on this machine only.
  std::string runner_program;    // Empty: lathe-runner beside the running program.
  std::string required_sandbox;  // Steps that trials must run behind (runner/sandbox.h): "processes,files,calls".
  std::string build_id = "lathe-device";
  std::function<void(std::string)> log = [](std::string) {};
};

// InvalidArgument names the first thing that is not a CPU this process may use.
StatusOr<std::vector<int>> ParseDeviceCpus(std::string_view text);
// Fills in the name, the folder and the identity's path that follow from the others. InvalidArgument as above.
Status SetDefaults(DeviceProgramOptions& options);
// What this machine is, as the farm should know it, but for what has to be tried out.
v1::DeviceFacts CollectDeviceFacts(std::string name, std::string key, const std::vector<int>& cpus);
// With that: what its runners run behind, and its peak. Takes a tenth of a second or two; on a machine that is busy
// otherwise the peak comes out too low.
StatusOr<v1::DeviceFacts> MeasureDevice(std::string name, std::string key, const std::vector<int>& cpus,
                                        const ProcessTrialRunnerFactory& runners);
// Until SIGINT or SIGTERM. To be called on the main thread before any other thread exists. OK after a signal.
Status RunDeviceProgram(DeviceProgramOptions options);

}  // namespace lathe
