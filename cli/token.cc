// lathe token: what people show a server, so that it knows who asks.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/all_pages.h"
#include "cli/message_json.h"
#include "cli/number_check.h"
#include "cli/report_error.h"
#include "cli/session.h"
#include "cli/standing_text.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "support/credential.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

struct TokenOptions {
  Place place;
  std::string user, role = "submitter", valid = "90d";
  int64_t id = 0;
  bool as_json = false;
};

// The token is drawn here and goes no further: the server is told its digest.
Status Create(const TokenOptions& options) {
  ASSIGN_OR_RETURN(const Duration valid, ParseDuration(options.valid));
  ASSIGN_OR_RETURN(Session session, Session::Open(options.place, Access::kWrite));
  const AccessToken token{DrawSecret<32>()};
  v1::CreateTokenRequest request;
  request.set_secret_digest(std::string(token.SecretDigest().raw()));
  request.set_user(options.user);
  request.set_role(options.role);
  request.set_valid_ns(valid.count());
  ASSIGN_OR_RETURN(const std::string authority, AuthorityAt(options.place));
  ASSIGN_OR_RETURN(const v1::CreateTokenResponse response, session.identity().CreateToken(request));
  const v1::Token& made = response.token();
  fmt::print("{}\n{}", FormatToken(token), authority);
  fmt::print(
      stderr,
      "lathe: token {} makes its holder the {} \"{}\" until {} UTC; it is shown this once\nnext: \"{}\" keeps it "
      "in a file of mode 0600 for --token-file, or in $LATHE_TOKEN\n",
      made.id(), made.role(), made.user(), FormatUtc(made.expires_unix_ns()), made.user());
  return OkStatus();
}

nlohmann::ordered_json TokenJson(const v1::Token& token) {
  return {{"id", token.id()},
          {"user", token.user()},
          {"role", token.role()},
          {"standing", StandingText(token.standing())},
          {"created_unix_ns", token.created_unix_ns()},
          {"expires_unix_ns", token.expires_unix_ns()}};
}

void Print(const std::vector<v1::Token>& tokens) {
  if (tokens.empty()) {
    fmt::print(stderr, "lathe: no tokens; `lathe token create --user USER --role ROLE` makes one\n");
    return;
  }
  TextTable table({">ID", "USER", "ROLE", "STATE", "UNTIL (UTC)"});
  for (const v1::Token& each : tokens) {
    table.Add({std::to_string(each.id()), each.user(), each.role(), StandingText(each.standing()),
               FormatUtc(each.expires_unix_ns())});
  }
  fmt::print("{}", table.Render());
}

Status List(const TokenOptions& options) {
  ASSIGN_OR_RETURN(Session session, Session::Open(options.place, Access::kLive));
  ASSIGN_OR_RETURN(const std::vector<v1::Token> tokens,
                   AllPages(session.identity(), &IdentityApi::ListTokens, &v1::ListTokensResponse::tokens));
  if (!options.as_json) {
    Print(tokens);
    return OkStatus();
  }
  nlohmann::ordered_json json = {{"tokens", nlohmann::ordered_json::array()}};
  for (const v1::Token& token : tokens) json["tokens"].push_back(TokenJson(token));
  PrintJson(json);
  return OkStatus();
}

Status Revoke(const TokenOptions& options) {
  ASSIGN_OR_RETURN(Session session, Session::Open(options.place, Access::kWrite));
  v1::RevokeTokenRequest request;
  request.set_token_id(options.id);
  ASSIGN_OR_RETURN(const v1::RevokeTokenResponse response, session.identity().RevokeToken(request));
  LogLine(fmt::format("token {} of {} \"{}\" is revoked", response.token().id(), response.token().role(),
                      response.token().user()));
  return OkStatus();
}

}  // namespace

void AddToken(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<TokenOptions>();
  CLI::App* verb = app.add_subcommand("token", "Give people tokens, list them, or take one back");
  verb->require_subcommand(1);
  CLI::App* create = verb->add_subcommand("create", "Print a new token; it is shown this once");
  create->add_option("--user", options->user, "whose it is: 1 to 64 of a-z, 0-9, '.', '_', '-'")->required();
  create->add_option("--role", options->role, "viewer, submitter or admin")->capture_default_str();
  create->add_option("--valid", options->valid, "so long, e.g. 12h, 90d; at most 366d")->capture_default_str();
  AddPlaceFlags(*create, options->place);
  create->callback([options, &exit_code] { exit_code = EndVerb(Create(*options)); });
  CLI::App* list = verb->add_subcommand("list", "List every token that was made, never its secret");
  list->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  AddPlaceFlags(*list, options->place);
  list->callback([options, &exit_code] { exit_code = EndVerb(List(*options)); });
  CLI::App* revoke = verb->add_subcommand("revoke", "Take a token back: it counts no more");
  revoke->add_option("ID", options->id, "as `list` shows it")->required()->check(WholeNumber(1));
  AddPlaceFlags(*revoke, options->place);
  revoke->callback([options, &exit_code] { exit_code = EndVerb(Revoke(*options)); });
}

}  // namespace lathe
