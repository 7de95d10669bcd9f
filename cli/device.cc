// lathe device: lends this machine to a server; the same as the program lathe-device.
#include <CLI/CLI.hpp>

#include "cli/exit_code.h"
#include "cli/parse_flags.h"
#include "cli/verbs.h"
#include "rpc/device/device_program.h"

namespace lathe {

int RunDevice(int argc, char** argv) {
  DeviceProgramOptions options;
  options.build_id = "lathe device";
  options.log = [](const std::string& text) { std::fprintf(stderr, "lathe: %s\n", text.c_str()); };
  CLI::App app("Lends this machine, or some of its CPUs, to a server", "lathe device");
  app.add_option("--connect", options.connect, "the server's device port: HOST:PORT (loopback) or unix:PATH")->required();
  app.add_option("--key", options.key, "the class of device that jobs ask for, e.g. pi4")->capture_default_str();
  app.add_option("--name", options.name, "this device's own name; default: host name and first cpu");
  app.add_option("--cpus", options.cpus, "CPUs to lend, e.g. 0-3,6; default: all");
  app.add_option("--data", options.data_directory, "folder for artifacts and unsent results");
  app.add_option("--runner", options.runner_program, "path of lathe-runner; default: beside this program");
  if (const auto ended = ParseFlags(app, argc, argv)) return *ended;
  const Status status = RunDeviceProgram(std::move(options));
  return status.ok() ? kExitOk : Fail(status);
}

}  // namespace lathe
