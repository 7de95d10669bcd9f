// lathe-device: lends this machine, or some of its CPUs, to a farm.
#include <CLI/CLI.hpp>
#include <cstdio>
#ifdef LATHE_STATIC
#include <nss.h>
#include <unistd.h>
#endif

#include "rpc/device/device_join.h"
#include "rpc/device/device_program.h"

namespace {

int Report(const lathe::Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "lathe-device: %s\n", status.message().c_str());
  return status.code() == lathe::StatusCode::kInvalidArgument ? 2 : 1;
}

int Join(const lathe::DeviceJoinOptions& options) {
  const lathe::StatusOr<std::string> joined = lathe::JoinAsDevice(options);
  if (joined.ok()) std::fputs(joined->c_str(), stdout);
  return Report(joined.status());
}

#ifdef LATHE_STATIC
// The program of a package (deploy/board): static, so it looks names up by files and DNS, which its C library has in
// itself, and never loads the modules of another one that nsswitch.conf may name. Its machine's data is where the
// package has made a folder for it.
void BeStatic(lathe::DeviceProgramOptions& options, lathe::DeviceJoinOptions& join) {
  constexpr const char* kPackageFolder = "/var/lib/lathe/device";
  __nss_configure_lookup("hosts", "files dns");
  if (access(kPackageFolder, W_OK) != 0) return;
  options.data_directory = kPackageFolder;
  join.start = "its service starts by itself: systemctl status lathe-device";
}
#else
void BeStatic(lathe::DeviceProgramOptions&, lathe::DeviceJoinOptions&) {}
#endif

}  // namespace

int main(int argc, char** argv) {
  lathe::DeviceProgramOptions options;
  lathe::DeviceJoinOptions join;
  BeStatic(options, join);
  options.log = [](const std::string& text) { std::fprintf(stderr, "lathe-device: %s\n", text.c_str()); };
  CLI::App app("Runs and times kernels for a Lathe server", "lathe-device");
  app.add_option("--connect", options.connect,
                 "the server's device port: HOST:PORT or unix:PATH; default: where this machine has joined");
  app.add_option("--key", options.key, "the class of device that jobs ask for, e.g. pi4")->capture_default_str();
  app.add_option("--name", options.name,
                 "this device's own name; default: what it has joined as (with --data), or host name and first cpu");
  app.add_option("--cpus", options.cpus, "CPUs to lend, e.g. 0-3,6; default: all");
  app.add_option("--tag", options.tags, "a word or NAME=VALUE that jobs may ask for, e.g. rack=3; as often as needed")
      ->allow_extra_args(false);
  app.add_option("--data", options.data_directory, "folder for artifacts and unsent results");
  app.add_option("--runner", options.runner_program, "path of lathe-runner; default: beside this program");
  app.add_option("--require-sandbox", options.required_sandbox,
                 "do not start unless trials run behind these: processes,files,calls,memory");
  CLI::App* const joining =
      app.add_subcommand("join", "makes this machine a device of a farm, by a code of lathe invite");
  joining->fallthrough();
  joining->add_option("farm", join.farm, "the server's device port: HOST:PORT")->required();
  joining->add_option("code", join.code, "what lathe invite device printed")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (joining->parsed()) {
    join.name = options.name;
    join.cpus = options.cpus;
    join.data_directory = options.data_directory;
    return Join(join);
  }
  return Report(lathe::RunDeviceProgram(std::move(options)));
}
