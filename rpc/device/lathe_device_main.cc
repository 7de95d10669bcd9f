// lathe-device: lends this machine, or some of its CPUs, to a farm.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "rpc/device/device_program.h"

int main(int argc, char** argv) {
  lathe::DeviceProgramOptions options;
  options.log = [](const std::string& text) { std::fprintf(stderr, "lathe-device: %s\n", text.c_str()); };
  CLI::App app("Runs and times kernels for a Lathe server", "lathe-device");
  app.add_option("--connect", options.connect, "the server's device port: HOST:PORT (loopback) or unix:PATH")
      ->required();
  app.add_option("--key", options.key, "the class of device that jobs ask for, e.g. pi4")->capture_default_str();
  app.add_option("--name", options.name, "this device's own name; default: host name and first cpu");
  app.add_option("--cpus", options.cpus, "CPUs to lend, e.g. 0-3,6; default: all");
  app.add_option("--data", options.data_directory, "folder for artifacts and unsent results");
  app.add_option("--runner", options.runner_program, "path of lathe-runner; default: beside this program");
  app.add_option("--require-sandbox", options.required_sandbox,
                 "do not start unless trials run behind these: processes,files,calls,memory");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const lathe::Status status = lathe::RunDeviceProgram(std::move(options));
  if (status.ok()) return 0;
  std::fprintf(stderr, "lathe-device: %s\n", status.message().c_str());
  return status.code() == lathe::StatusCode::kInvalidArgument ? 2 : 1;
}
