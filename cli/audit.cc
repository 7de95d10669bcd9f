// lathe audit: what was changed about who may do what, and who was refused.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/database_path.h"
#include "cli/message_json.h"
#include "cli/report_error.h"
#include "cli/text_table.h"
#include "cli/time_text.h"
#include "cli/verbs.h"
#include "support/status_macros.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

struct AuditOptions {
  std::string database;
  bool as_json = false;
};

bool IsAudited(const EventRow& event) {
  static const std::set<std::string> kKinds = {"invitation", "certificate", "token", "refusal"};
  return kKinds.contains(event.kind);
}

// Page by page: most events are of trials.
StatusOr<std::vector<EventRow>> AuditedEvents(Store& store) {
  constexpr int kPage = 10'000;
  std::vector<EventRow> audited;
  for (int64_t after = 0;;) {
    ASSIGN_OR_RETURN(const std::vector<EventRow> page, store.ReadEvents(after, std::nullopt, kPage));
    std::copy_if(page.begin(), page.end(), std::back_inserter(audited), IsAudited);
    if (page.size() < kPage) return audited;
    after = page.back().cursor;
  }
}

void PrintAudit(const std::vector<EventRow>& events) {
  if (events.empty()) {
    fmt::print(stderr, "lathe: nobody was invited, given a token or refused\n");
    return;
  }
  TextTable table({"WHEN (UTC)", "KIND", "WHAT"});
  for (const EventRow& event : events) table.Add({FormatUtc(event.at_unix_ns), event.kind, event.detail});
  fmt::print("{}", table.Render());
}

void PrintAuditJson(const std::vector<EventRow>& events) {
  nlohmann::ordered_json json = {{"events", nlohmann::ordered_json::array()}};
  for (const EventRow& event : events) {
    json["events"].push_back({{"at_unix_ns", event.at_unix_ns},
                              {"kind", event.kind},
                              {"subject_id", event.subject_id},
                              {"detail", event.detail}});
  }
  PrintJson(json);
}

Status Audit(const AuditOptions& options) {
  const std::string database = DatabasePath(options.database);
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteStore> store, SqliteStore::OpenReadOnly(database));
  ASSIGN_OR_RETURN(const std::vector<EventRow> events, AuditedEvents(*store));
  if (options.as_json)
    PrintAuditJson(events);
  else
    PrintAudit(events);
  return OkStatus();
}

}  // namespace

void AddAudit(CLI::App& app, int& exit_code) {
  const auto options = std::make_shared<AuditOptions>();
  CLI::App* verb = app.add_subcommand("audit", "List what was changed about who may do what, and who was refused");
  verb->add_flag("--json", options->as_json, "machine-readable (docs/formats/cli_json.md)");
  verb->add_option("--db", options->database, "the database file; beside a server too");
  verb->callback([options, &exit_code] { exit_code = EndVerb(Audit(*options)); });
}

}  // namespace lathe
