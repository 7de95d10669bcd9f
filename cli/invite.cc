// lathe invite: a code that lets one machine join the farm.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/database_path.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "support/credential.h"
#include "support/status_macros.h"
#include "tuner/service/authority.h"

namespace lathe {
namespace {

struct InviteOptions {
  std::string database, role, name, valid = "15m";
};

// The code is drawn here and goes no further: the server is told its digest.
Status Run(const InviteOptions& options) {
  const std::string database = AbsolutePath(DatabasePath(options.database));
  ASSIGN_OR_RETURN(const Duration valid, ParseDuration(options.valid));
  ASSIGN_OR_RETURN(const Authority authority, ReadAuthorityBeside(database));
  InvitationCode code{.secret = DrawSecret<16>()};
  ASSIGN_OR_RETURN(code.authority, CertificateDigest(authority.authority.certificate_pem));
  v1::InviteRequest request;
  request.set_code_digest(std::string(code.SecretDigest().raw()));
  request.set_role(options.role);
  request.set_name(options.name);
  request.set_valid_ns(valid.count());
  ASSIGN_OR_RETURN(Session session, Session::Open({.database = database}, Access::kWrite));
  ASSIGN_OR_RETURN(const v1::InviteResponse response, session.identity().Invite(request));
  const v1::Invitation& made = response.invitation();
  fmt::print("{}\n", FormatInvitationCode(code));
  fmt::print(
      stderr,
      "lathe: with this code a {}{} may join once, until {} UTC\nnext: {} there, with this server's port for devices\n",
      made.role(), made.name().empty() ? "" : fmt::format(" \"{}\"", made.name()), FormatUtc(made.expires_unix_ns()),
      made.role() == "worker" ? "`lathe worker join HOST:PORT CODE`" : "`lathe-device join HOST:PORT CODE`");
  return OkStatus();
}

}  // namespace

void AddInvite(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<InviteOptions>();
  CLI::App* verb = app.add_subcommand("invite", "Print a code that lets one device or worker join the farm");
  verb->require_subcommand(1);
  for (const char* role : {"device", "worker"}) {
    CLI::App* kind = verb->add_subcommand(role, fmt::format("Print a code that lets one {} join", role));
    kind->add_option("--name", options->name,
                     "the only name that it may take; a machine that has it is replaced. Default: any that is free");
    kind->add_option("--valid", options->valid, "so long, e.g. 15m, 2h; at most 7d")->capture_default_str();
    kind->add_option("--db", options->database, "the database file");
    kind->callback([options, role, &exit_code] {
      options->role = role;
      exit_code = EndVerb(Run(*options));
    });
  }
}

}  // namespace lathe
