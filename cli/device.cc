// lathe device: lends this machine to a server; the same as the program lathe-device.
#include <CLI/CLI.hpp>

#include "cli/report_error.h"
#include "cli/verbs.h"
#include "rpc/device/device_program.h"

namespace lathe {

namespace {

int Run(DeviceProgramOptions options) {
  options.build_id = "lathe device";
  options.log = [](const std::string& text) { std::fprintf(stderr, "lathe: %s\n", text.c_str()); };
  const Status status = RunDeviceProgram(std::move(options));
  return EndVerb(status);
}

}  // namespace

void AddDevice(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<DeviceProgramOptions>();
  CLI::App* verb = app.add_subcommand("device", "Lend this machine, or some of its CPUs, to a server");
  verb->add_option("--connect", options->connect, "the server's device port: HOST:PORT (loopback) or unix:PATH")
      ->required();
  verb->add_option("--key", options->key, "the class of device that jobs ask for, e.g. pi4")->capture_default_str();
  verb->add_option("--name", options->name, "this device's own name; default: host name and first cpu");
  verb->add_option("--cpus", options->cpus, "CPUs to lend, e.g. 0-3,6; default: all");
  verb->add_option("--tag", options->tags,
                   "a word or NAME=VALUE that jobs may ask for, e.g. rack=3; as often as needed")
      ->allow_extra_args(false);
  verb->add_option("--data", options->data_directory, "folder for artifacts and unsent results");
  verb->add_option("--runner", options->runner_program, "path of lathe-runner; default: beside this program");
  verb->add_option("--require-sandbox", options->required_sandbox,
                   "do not start unless trials run behind these: processes,files,calls,memory");
  verb->callback([options, &exit_code] { exit_code = Run(*options); });
}

}  // namespace lathe
