#include "cli/parse_flags.h"

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lathe {

std::optional<int> ParseFlags(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
}

}  // namespace lathe
