// lathe ca: the farm's authority, which signs for its server, devices and workers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/database_path.h"
#include "cli/report_error.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "support/clock.h"
#include "support/status_macros.h"
#include "tuner/service/authority.h"

namespace lathe {
namespace {

struct CaOptions {
  std::string database;
  std::vector<std::string> hosts;
  bool as_pem = false;
};

std::string Joined(const std::vector<std::string>& hosts) { return fmt::format("{}", fmt::join(hosts, ", ")); }

Status Init(const CaOptions& options) {
  const std::string database = AbsolutePath(DatabasePath(options.database));
  RETURN_IF_ERROR(CreateFolderOf(database));
  ASSIGN_OR_RETURN(const Authority made, MakeAuthorityBeside(database, options.hosts, SystemClock().UnixNanos()));
  ASSIGN_OR_RETURN(const CertificateFacts server, ReadCertificate(made.server.certificate_pem));
  fmt::print(
      stderr,
      "lathe: made {}: whoever has its authority.key is the farm\n  the server is known as {}\nnext: start `lathe "
      "up` anew; then everybody but this machine's `--db` has to show who they are:\n  lathe invite device, lathe "
      "invite worker, lathe token create\n",
      AuthorityFolder(database), Joined(server.hosts));
  return OkStatus();
}

void PrintCertificate(const char* what, std::string_view pem, const Validity& validity) {
  const StatusOr<Digest> digest = CertificateDigest(pem);
  fmt::print("{}\n  sha256 {}\n  from   {} UTC\n  until  {} UTC\n", what, digest.ok() ? digest->ToHex() : "?",
             FormatUtc(validity.not_before_unix_ns), FormatUtc(validity.not_after_unix_ns));
}

Status Show(const CaOptions& options) {
  ASSIGN_OR_RETURN(const Authority authority, ReadAuthorityBeside(AbsolutePath(DatabasePath(options.database))));
  const std::string& pem = authority.authority.certificate_pem;
  if (options.as_pem) {
    fmt::print("{}", pem);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Validity validity, CertificateValidity(pem));
  ASSIGN_OR_RETURN(const CertificateFacts server, ReadCertificate(authority.server.certificate_pem));
  PrintCertificate("authority", pem, validity);
  PrintCertificate("server", authority.server.certificate_pem, server.validity);
  fmt::print("  hosts  {}\n", Joined(server.hosts));
  return OkStatus();
}

}  // namespace

void AddCa(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CaOptions>();
  CLI::App* verb = app.add_subcommand("ca", "Make or show the authority that says who belongs to a farm");
  verb->require_subcommand(1);
  CLI::App* init = verb->add_subcommand("init", "Make it beside the database, with a certificate for the server");
  init->add_option("--host", options->hosts, "a name or IP address that others reach this server by; may be repeated");
  init->add_option("--db", options->database, "the database file; it need not be there yet");
  init->callback([options, &exit_code] { exit_code = EndVerb(Init(*options)); });
  CLI::App* show = verb->add_subcommand("show", "Print whom it and the server's certificate name, and until when");
  show->add_flag("--pem", options->as_pem, "its certificate, for programs that are to trust it");
  show->add_option("--db", options->database, "the database file");
  show->callback([options, &exit_code] { exit_code = EndVerb(Show(*options)); });
}

}  // namespace lathe
