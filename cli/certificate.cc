// lathe certificate: which machines belong to the farm, and how one is shut out.
#include "support/certificate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/all_pages.h"
#include "cli/message_json.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/standing_text.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct CertificateOptions {
  Place place;
  std::string serial;
  bool as_json = false;
};

std::string SerialText(const v1::Certificate& certificate) {
  const StatusOr<CertificateSerial> serial = CertificateSerial::FromBytes(certificate.serial());
  return serial.ok() ? serial->ToHex() : "?";
}

nlohmann::ordered_json CertificateJson(const v1::Certificate& certificate) {
  return {{"serial", SerialText(certificate)},
          {"role", certificate.role()},
          {"name", certificate.name()},
          {"standing", StandingText(certificate.standing())},
          {"not_before_unix_ns", certificate.not_before_unix_ns()},
          {"not_after_unix_ns", certificate.not_after_unix_ns()},
          {"revoked_because", certificate.revoked_because()}};
}

void Print(const std::vector<v1::Certificate>& certificates) {
  if (certificates.empty()) {
    fmt::print(stderr, "lathe: no machine has joined; `lathe invite device` and `lathe invite worker` let some in\n");
    return;
  }
  TextTable table({"SERIAL", "ROLE", "NAME", "STATE", "UNTIL (UTC)", "WHY"});
  for (const v1::Certificate& each : certificates) {
    table.Add({SerialText(each), each.role(), each.name(), StandingText(each.standing()),
               FormatUtc(each.not_after_unix_ns()), each.revoked_because()});
  }
  fmt::print("{}", table.Render());
}

Status List(const CertificateOptions& options) {
  ASSIGN_OR_RETURN(Session session, Session::Open(options.place, Access::kLive));
  ASSIGN_OR_RETURN(
      const std::vector<v1::Certificate> certificates,
      AllPages(session.identity(), &IdentityApi::ListCertificates, &v1::ListCertificatesResponse::certificates));
  if (!options.as_json) {
    Print(certificates);
    return OkStatus();
  }
  nlohmann::ordered_json json = {{"certificates", nlohmann::ordered_json::array()}};
  for (const v1::Certificate& certificate : certificates) json["certificates"].push_back(CertificateJson(certificate));
  PrintJson(json);
  return OkStatus();
}

Status Revoke(const CertificateOptions& options) {
  ASSIGN_OR_RETURN(const CertificateSerial serial, CertificateSerial::FromHex(options.serial));
  ASSIGN_OR_RETURN(Session session, Session::Open(options.place, Access::kWrite));
  v1::RevokeCertificatesRequest request;
  request.set_serial(std::string(serial.raw()));
  ASSIGN_OR_RETURN(const v1::RevokeCertificatesResponse response, session.identity().RevokeCertificates(request));
  if (response.certificates().empty()) {
    LogLine("nothing of that machine is in force any more");
    return OkStatus();
  }
  const v1::Certificate& first = response.certificates(0);
  LogLine(fmt::format("{} \"{}\" is shut out: {} of its certificates revoked", first.role(), first.name(),
                      response.certificates_size()));
  return OkStatus();
}

}  // namespace

void AddCertificate(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<CertificateOptions>();
  CLI::App* verb = app.add_subcommand("certificate", "List the machines that belong to the farm, or shut one out");
  verb->require_subcommand(1);
  CLI::App* list = verb->add_subcommand("list", "List every certificate that was given to a device or worker");
  list->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*list, options->place);
  list->callback([options, &exit_code] { exit_code = EndVerb(List(*options)); });
  CLI::App* revoke = verb->add_subcommand("revoke", "Shut a machine out: all of its certificates count no more");
  revoke->add_option("SERIAL", options->serial, "of one of its certificates, as `list` shows it")->required();
  AddPlaceFlags(*revoke, options->place);
  revoke->callback([options, &exit_code] { exit_code = EndVerb(Revoke(*options)); });
}

}  // namespace lathe
