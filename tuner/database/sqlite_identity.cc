// Invitations, certificates and tokens: what each was given for, and whether it still counts.
#include <fmt/chrono.h>
#include <fmt/core.h>

#include "support/sqlite.h"
#include "tuner/database/sqlite_rows.h"
#include "tuner/database/sqlite_store.h"

namespace lathe {
namespace {

using sqlite::Connection;
using sqlite::Row;

constexpr int64_t kSecond = 1'000'000'000;

std::string UtcText(int64_t unix_ns) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(unix_ns / kSecond)));
}

StatusOr<Role> ReadRole(const Row& row, int column) {
  if (const std::optional<Role> role = ParseRole(row.Text(column))) return *role;
  return DataLoss(fmt::format("read role \"{}\": no such role; restore a copy", row.Text(column)));
}

Standing StandingOf(bool is_revoked, int64_t end, int64_t now) {
  if (is_revoked) return Standing::kRevoked;
  return now < end ? Standing::kInForce : Standing::kExpired;
}

bool IsJoinable(Role role) { return role == Role::kDevice || role == Role::kWorker; }
bool IsOfPeople(Role role) { return role == Role::kViewer || role == Role::kSubmitter || role == Role::kAdmin; }

Status CheckSpan(std::string_view what, Duration valid, Duration longest) {
  if (valid > Duration(0) && valid <= longest) return OkStatus();
  return InvalidArgument(
      fmt::format("{}: valid for {} s, 1 to {} required", what, valid.count() / kSecond, longest.count() / kSecond));
}

Status CheckName(std::string_view what, std::string_view name) {
  if (IsFarmName(name)) return OkStatus();
  return InvalidArgument(fmt::format("{}: the name \"{}\" is not [a-z0-9._-]{{1,64}}", what, name.substr(0, 80)));
}

// --- Certificates --------------------------------------------------------------------------------------------------

#define LATHE_CERTIFICATE_QUERY                                                                            \
  "SELECT id, serial, role, name, not_before_unix_ns, not_after_unix_ns, added_unix_ns, revoked_unix_ns, " \
  "revoked_because FROM certificate "

template <typename... Args>
StatusOr<std::vector<CertificateRow>> Certificates(Connection& db, int64_t now, std::string_view sql,
                                                   const Args&... args) {
  std::vector<CertificateRow> rows;
  const auto add = [&](const Row& row) -> Status {
    ASSIGN_OR_RETURN(const CertificateSerial serial, CertificateSerial::FromBytes(row.Blob(1)));
    ASSIGN_OR_RETURN(const Role role, ReadRole(row, 2));
    rows.push_back({row.Int(0),
                    serial,
                    {role, row.String(3)},
                    {row.Int(4), row.Int(5)},
                    row.Int(6),
                    row.MaybeInt(7),
                    row.String(8),
                    StandingOf(!row.IsNull(7), row.Int(5), now)});
    return OkStatus();
  };
  RETURN_IF_ERROR(db.Each(sql, add, args...));
  return rows;
}

StatusOr<std::optional<CertificateRow>> CertificateOf(Connection& db, const CertificateSerial& serial, int64_t now) {
  ASSIGN_OR_RETURN(std::vector<CertificateRow> rows,
                   Certificates(db, now, LATHE_CERTIFICATE_QUERY "WHERE serial = ?", sqlite::Bytes{serial.raw()}));
  return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
}

// Of a machine, expired ones left out.
StatusOr<std::vector<CertificateRow>> InForce(Connection& db, const CertificateSubject& subject, int64_t now) {
  return Certificates(db, now,
                      LATHE_CERTIFICATE_QUERY
                      "WHERE role = ? AND name = ? AND revoked_unix_ns IS NULL AND not_after_unix_ns > ? ORDER BY id",
                      RoleName(subject.role), subject.name, now);
}

Status CheckNew(const NewCertificate& certificate) {
  const CertificateSubject& subject = certificate.subject;
  if (!IsJoinable(subject.role))
    return InvalidArgument(
        fmt::format("add certificate: a {} has none here; a device or a worker has", RoleName(subject.role)));
  return CheckName("add certificate", subject.name);
}

StatusOr<CertificateRow> AddCertificate(Connection& db, const NewCertificate& certificate, std::string_view how,
                                        int64_t now) {
  const auto& [serial, subject, validity] = certificate;
  RETURN_IF_ERROR(
      db.Run("INSERT INTO certificate (serial, role, name, not_before_unix_ns, not_after_unix_ns, added_unix_ns, "
             "revoked_because) VALUES (?, ?, ?, ?, ?, ?, '')",
             sqlite::Bytes{serial.raw()}, RoleName(subject.role), subject.name, validity.not_before_unix_ns,
             validity.not_after_unix_ns, now));
  const int64_t id = db.last_insert_id();
  RETURN_IF_ERROR(AddEvent(db, now, "certificate", std::nullopt, id,
                           fmt::format("{} \"{}\" {}: serial {}, until {}", RoleName(subject.role), subject.name, how,
                                       serial.ToHex(), UtcText(validity.not_after_unix_ns))));
  return CertificateRow{id,  serial,       subject, validity,
                        now, std::nullopt, "",      StandingOf(false, validity.not_after_unix_ns, now)};
}

Status Revoke(Connection& db, const CertificateRow& row, std::string_view because, int64_t now) {
  RETURN_IF_ERROR(
      db.Run("UPDATE certificate SET revoked_unix_ns = ?, revoked_because = ? WHERE id = ?", now, because, row.id));
  return AddEvent(db, now, "certificate", std::nullopt, row.id,
                  fmt::format("{} \"{}\" revoked, {}: serial {}", RoleName(row.subject.role), row.subject.name, because,
                              row.serial.ToHex()));
}

// --- Invitations ---------------------------------------------------------------------------------------------------

// With what only the Store needs to know.
struct Invitation {
  InvitationRow row;
  std::optional<int64_t> certificate_id, taken_unix_ns;
};

#define LATHE_INVITATION_QUERY \
  "SELECT id, role, name, created_unix_ns, expires_unix_ns, certificate_id, taken_unix_ns FROM invitation "

template <typename... Args>
StatusOr<std::vector<Invitation>> Invitations(Connection& db, int64_t now, std::string_view sql, const Args&... args) {
  std::vector<Invitation> invitations;
  const auto add = [&](const Row& row) -> Status {
    ASSIGN_OR_RETURN(const Role role, ReadRole(row, 1));
    const Standing standing = row.IsNull(5) ? StandingOf(false, row.Int(4), now) : Standing::kTaken;
    invitations.push_back(
        {{row.Int(0), role, row.String(2), row.Int(3), row.Int(4), standing}, row.MaybeInt(5), row.MaybeInt(6)});
    return OkStatus();
  };
  RETURN_IF_ERROR(db.Each(sql, add, args...));
  return invitations;
}

StatusOr<std::optional<Invitation>> InvitationOf(Connection& db, const Digest& code, int64_t now) {
  ASSIGN_OR_RETURN(std::vector<Invitation> found,
                   Invitations(db, now, LATHE_INVITATION_QUERY "WHERE code_digest = ?", code));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

std::string AnotherInvitation(Role role) { return fmt::format("ask for another: `lathe invite {}`", RoleName(role)); }

Status CheckTakes(const std::optional<Invitation>& invitation, const CertificateSubject& subject) {
  if (!invitation.has_value()) {
    return Unauthenticated(fmt::format("join: this farm made no such invitation; {}", AnotherInvitation(subject.role)));
  }
  const InvitationRow& row = invitation->row;
  if (row.standing == Standing::kTaken) {
    return Unauthenticated(
        fmt::format("join: the invitation was taken at {}; if that was not you, revoke what it gave, {}",
                    UtcText(*invitation->taken_unix_ns), AnotherInvitation(row.role)));
  }
  if (row.standing == Standing::kExpired) {
    return Unauthenticated(fmt::format("join: the invitation expired at {}; {}", UtcText(row.expires_unix_ns),
                                       AnotherInvitation(row.role)));
  }
  if (row.role != subject.role) {
    return PermissionDenied(fmt::format("join as {}: the invitation is for a {}; {}", RoleName(subject.role),
                                        RoleName(row.role), AnotherInvitation(subject.role)));
  }
  if (row.name.empty() || row.name == subject.name) return OkStatus();
  return PermissionDenied(fmt::format("join as {} \"{}\": the invitation is for \"{}\"; take that name, or {}",
                                      RoleName(row.role), subject.name, row.name, AnotherInvitation(row.role)));
}

// An invitation that names the machine lets it come back with a new key; one that names nobody lets nobody take
// another's name.
Status MakeRoomFor(Connection& db, const Invitation& invitation, const CertificateSubject& subject, int64_t now) {
  ASSIGN_OR_RETURN(const std::vector<CertificateRow> former, InForce(db, subject, now));
  if (!former.empty() && invitation.row.name.empty()) {
    return AlreadyExists(fmt::format(
        "join as {0} \"{1}\": another {0} has a certificate of that name; choose another name, or have this machine "
        "invited: `lathe invite {0} --name {1}`",
        RoleName(subject.role), subject.name));
  }
  for (const CertificateRow& row : former) RETURN_IF_ERROR(Revoke(db, row, "replaced by an invitation", now));
  return OkStatus();
}

Status MarkTaken(Connection& db, const Invitation& invitation, const CertificateRow& certificate, int64_t now) {
  RETURN_IF_ERROR(db.Run("UPDATE invitation SET taken_unix_ns = ?, certificate_id = ? WHERE id = ?", now,
                         certificate.id, invitation.row.id));
  return AddEvent(db, now, "invitation", std::nullopt, invitation.row.id,
                  fmt::format("taken by {} \"{}\"", RoleName(certificate.subject.role), certificate.subject.name));
}

// The row itself, where this very certificate has taken the invitation before.
StatusOr<std::optional<CertificateRow>> TakenBefore(Connection& db, const std::optional<Invitation>& invitation,
                                                    const NewCertificate& certificate, int64_t now) {
  std::optional<CertificateRow> none;
  if (!invitation.has_value() || !invitation->certificate_id.has_value()) return none;
  ASSIGN_OR_RETURN(std::optional<CertificateRow> row, CertificateOf(db, certificate.serial, now));
  const bool is_same = row.has_value() && row->id == *invitation->certificate_id && row->subject == certificate.subject;
  return is_same ? row : none;
}

StatusOr<CertificateRow> Take(Connection& db, const Digest& code, const NewCertificate& certificate, int64_t now) {
  ASSIGN_OR_RETURN(const std::optional<Invitation> invitation, InvitationOf(db, code, now));
  ASSIGN_OR_RETURN(std::optional<CertificateRow> before, TakenBefore(db, invitation, certificate, now));
  if (before.has_value()) return *std::move(before);
  RETURN_IF_ERROR(CheckTakes(invitation, certificate.subject));
  RETURN_IF_ERROR(MakeRoomFor(db, *invitation, certificate.subject, now));
  ASSIGN_OR_RETURN(CertificateRow row, AddCertificate(db, certificate, "joined", now));
  RETURN_IF_ERROR(MarkTaken(db, *invitation, row, now));
  return row;
}

StatusOr<CertificateRow> Renew(Connection& db, const CertificateSerial& former_serial,
                               const NewCertificate& certificate, int64_t now) {
  ASSIGN_OR_RETURN(const std::optional<CertificateRow> former, CertificateOf(db, former_serial, now));
  const CertificateSubject& subject = certificate.subject;
  const std::string context = fmt::format("renew certificate of {} \"{}\"", RoleName(subject.role), subject.name);
  if (!former.has_value() || former->standing != Standing::kInForce || former->subject != subject) {
    return Unauthenticated(fmt::format("{}: the present one {}; join again", context,
                                       !former.has_value() ? "is not known to this farm"
                                       : former->subject != subject
                                           ? "is another machine's"
                                           : fmt::format("is {}", StandingName(former->standing))));
  }
  ASSIGN_OR_RETURN(std::optional<CertificateRow> same, CertificateOf(db, certificate.serial, now));
  if (same.has_value() && same->subject == subject) return *std::move(same);
  ASSIGN_OR_RETURN(const std::vector<CertificateRow> in_force, InForce(db, subject, now));
  if (in_force.size() >= kMostCertificates) {
    return ResourceExhausted(fmt::format("{}: {} are in force, at most {} allowed; use one of them, or join again",
                                         context, in_force.size(), kMostCertificates));
  }
  return AddCertificate(db, certificate, "renewed", now);
}

// --- Tokens --------------------------------------------------------------------------------------------------------

#define LATHE_TOKEN_QUERY "SELECT id, user, role, created_unix_ns, expires_unix_ns, revoked_unix_ns FROM token "

template <typename... Args>
StatusOr<std::vector<TokenRow>> Tokens(Connection& db, int64_t now, std::string_view sql, const Args&... args) {
  std::vector<TokenRow> rows;
  const auto add = [&](const Row& row) -> Status {
    ASSIGN_OR_RETURN(const Role role, ReadRole(row, 2));
    rows.push_back({row.Int(0), row.String(1), role, row.Int(3), row.Int(4), row.MaybeInt(5),
                    StandingOf(!row.IsNull(5), row.Int(4), now)});
    return OkStatus();
  };
  RETURN_IF_ERROR(db.Each(sql, add, args...));
  return rows;
}

StatusOr<std::optional<TokenRow>> TokenOf(Connection& db, const Digest& secret, int64_t now) {
  ASSIGN_OR_RETURN(std::vector<TokenRow> rows, Tokens(db, now, LATHE_TOKEN_QUERY "WHERE secret_digest = ?", secret));
  return rows.empty() ? std::nullopt : std::optional(std::move(rows.front()));
}

StatusOr<TokenRow> ReadToken(Connection& db, int64_t token_id, int64_t now) {
  ASSIGN_OR_RETURN(std::vector<TokenRow> rows, Tokens(db, now, LATHE_TOKEN_QUERY "WHERE id = ?", token_id));
  if (rows.empty())
    return NotFound(fmt::format("token {}: no such token; `lathe token list` shows those there are", token_id));
  return std::move(rows.front());
}

Status CheckNew(const NewToken& token) {
  if (!IsOfPeople(token.role)) {
    return InvalidArgument(
        fmt::format("create token: the role \"{}\" has none; viewer, submitter and admin have", RoleName(token.role)));
  }
  RETURN_IF_ERROR(CheckName("create token", token.user));
  return CheckSpan("create token", token.valid, kLongestToken);
}

Status CheckNew(const NewInvitation& invitation) {
  if (!IsJoinable(invitation.role))
    return InvalidArgument(
        fmt::format("invite: a {} does not join; a device or a worker does", RoleName(invitation.role)));
  if (!invitation.name.empty()) RETURN_IF_ERROR(CheckName("invite", invitation.name));
  return CheckSpan("invite", invitation.valid, kLongestInvitation);
}

// What is there, unless it was made for something else.
StatusOr<InvitationRow> SameInvitation(const InvitationRow& row, const NewInvitation& invitation) {
  if (row.role == invitation.role && row.name == invitation.name) return row;
  return AlreadyExists("invite: the code is that of another invitation; draw another");
}
StatusOr<TokenRow> SameToken(const TokenRow& row, const NewToken& token) {
  if (row.role == token.role && row.user == token.user) return row;
  return AlreadyExists("create token: the secret is that of another token; draw another");
}

}  // namespace

StatusOr<InvitationRow> SqliteStore::Invite(const NewInvitation& invitation, std::string_view by) {
  const int64_t now = time_.Now();
  RETURN_IF_ERROR(CheckNew(invitation));
  return Write([&](Connection& db) -> StatusOr<InvitationRow> {
    ASSIGN_OR_RETURN(const std::optional<Invitation> repeated, InvitationOf(db, invitation.code, now));
    if (repeated.has_value()) return SameInvitation(repeated->row, invitation);
    const int64_t expires = now + invitation.valid.count();
    RETURN_IF_ERROR(db.Run(
        "INSERT INTO invitation (code_digest, role, name, created_unix_ns, expires_unix_ns) VALUES (?, ?, ?, ?, ?)",
        invitation.code, RoleName(invitation.role), invitation.name, now, expires));
    const int64_t id = db.last_insert_id();
    RETURN_IF_ERROR(AddEvent(
        db, now, "invitation", std::nullopt, id,
        fmt::format("a {} {} is invited until {}, by {}", RoleName(invitation.role),
                    invitation.name.empty() ? "of any name" : '"' + invitation.name + '"', UtcText(expires), by)));
    return InvitationRow{id, invitation.role, invitation.name, now, expires, Standing::kInForce};
  });
}

StatusOr<std::vector<InvitationRow>> SqliteStore::ListInvitations(const Page& page) {
  const int64_t now = time_.Now();
  return ReadList([&](Connection& db) -> StatusOr<std::vector<InvitationRow>> {
    ASSIGN_OR_RETURN(
        const std::vector<Invitation> found,
        Invitations(db, now, LATHE_INVITATION_QUERY "WHERE id > ? ORDER BY id LIMIT ?", page.after_id, page.limit));
    std::vector<InvitationRow> rows;
    for (const Invitation& invitation : found) rows.push_back(invitation.row);
    return rows;
  });
}

StatusOr<CertificateRow> SqliteStore::TakeInvitation(const Digest& code, const NewCertificate& certificate) {
  const int64_t now = time_.Now();
  RETURN_IF_ERROR(CheckNew(certificate));
  return Write([&](Connection& db) { return Take(db, code, certificate, now); });
}

StatusOr<CertificateRow> SqliteStore::RenewCertificate(const CertificateSerial& former,
                                                       const NewCertificate& certificate) {
  const int64_t now = time_.Now();
  RETURN_IF_ERROR(CheckNew(certificate));
  return Write([&](Connection& db) { return Renew(db, former, certificate, now); });
}

StatusOr<std::optional<CertificateRow>> SqliteStore::FindCertificate(const CertificateSerial& serial) {
  const int64_t now = time_.Now();
  return Read([&](Connection& db) { return CertificateOf(db, serial, now); });
}

StatusOr<std::vector<CertificateRow>> SqliteStore::ListCertificates(const Page& page) {
  const int64_t now = time_.Now();
  return ReadList([&](Connection& db) {
    return Certificates(db, now, LATHE_CERTIFICATE_QUERY "WHERE id > ? ORDER BY id LIMIT ?", page.after_id, page.limit);
  });
}

StatusOr<std::vector<CertificateRow>> SqliteStore::RevokeCertificates(const CertificateSerial& serial,
                                                                      std::string_view by) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> StatusOr<std::vector<CertificateRow>> {
    ASSIGN_OR_RETURN(const std::optional<CertificateRow> named, CertificateOf(db, serial, now));
    if (!named.has_value()) {
      return NotFound(fmt::format(
          "certificate {}: no such serial number; `lathe certificate list` shows those there are", serial.ToHex()));
    }
    // What its machine renewed was revoked with it; whoever has the name now joined anew.
    if (named->revoked_unix_ns.has_value()) return std::vector<CertificateRow>();
    ASSIGN_OR_RETURN(const std::vector<CertificateRow> in_force, InForce(db, named->subject, now));
    for (const CertificateRow& row : in_force) RETURN_IF_ERROR(Revoke(db, row, fmt::format("by {}", by), now));
    return in_force;
  });
}

StatusOr<TokenRow> SqliteStore::CreateToken(const NewToken& token, std::string_view by) {
  const int64_t now = time_.Now();
  RETURN_IF_ERROR(CheckNew(token));
  return Write([&](Connection& db) -> StatusOr<TokenRow> {
    ASSIGN_OR_RETURN(const std::optional<TokenRow> repeated, TokenOf(db, token.secret, now));
    if (repeated.has_value()) return SameToken(*repeated, token);
    const int64_t expires = now + token.valid.count();
    RETURN_IF_ERROR(
        db.Run("INSERT INTO token (secret_digest, user, role, created_unix_ns, expires_unix_ns) VALUES (?, ?, ?, ?, ?)",
               token.secret, token.user, RoleName(token.role), now, expires));
    const int64_t id = db.last_insert_id();
    RETURN_IF_ERROR(AddEvent(
        db, now, "token", std::nullopt, id,
        fmt::format("{} \"{}\" has a token until {}, by {}", RoleName(token.role), token.user, UtcText(expires), by)));
    return ReadToken(db, id, now);
  });
}

StatusOr<std::optional<TokenRow>> SqliteStore::FindToken(const Digest& secret) {
  const int64_t now = time_.Now();
  return Read([&](Connection& db) { return TokenOf(db, secret, now); });
}

StatusOr<std::vector<TokenRow>> SqliteStore::ListTokens(const Page& page) {
  const int64_t now = time_.Now();
  return ReadList([&](Connection& db) {
    return Tokens(db, now, LATHE_TOKEN_QUERY "WHERE id > ? ORDER BY id LIMIT ?", page.after_id, page.limit);
  });
}

StatusOr<TokenRow> SqliteStore::RevokeToken(int64_t token_id, std::string_view by) {
  const int64_t now = time_.Now();
  return Write([&](Connection& db) -> StatusOr<TokenRow> {
    ASSIGN_OR_RETURN(TokenRow token, ReadToken(db, token_id, now));
    if (token.revoked_unix_ns.has_value()) return token;
    RETURN_IF_ERROR(db.Run("UPDATE token SET revoked_unix_ns = ? WHERE id = ?", now, token_id));
    RETURN_IF_ERROR(AddEvent(db, now, "token", std::nullopt, token_id,
                             fmt::format("{} \"{}\": revoked by {}", RoleName(token.role), token.user, by)));
    return ReadToken(db, token_id, now);
  });
}

Status SqliteStore::RecordRefusal(std::string_view words) {
  const int64_t now = time_.Now();
  return WriteSoft([&](Connection& db) { return AddEvent(db, now, "refusal", std::nullopt, 0, words); });
}

}  // namespace lathe
