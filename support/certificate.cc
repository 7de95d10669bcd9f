#include "support/certificate.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kMaxPemBytes = 16 << 10;
constexpr std::string_view kOrganization = "Lathe";

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
template <typename T, auto Free>
using Owned = std::unique_ptr<T, Freer<Free>>;
using Bio = Owned<BIO, BIO_free_all>;
using Key = Owned<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Owned<X509, X509_free>;
using Request = Owned<X509_REQ, X509_REQ_free>;
using BigNumber = Owned<BIGNUM, BN_free>;
using Time = Owned<ASN1_TIME, ASN1_TIME_free>;
using SubjectName = Owned<X509_NAME, X509_NAME_free>;
using Extension = Owned<X509_EXTENSION, X509_EXTENSION_free>;
using Names = Owned<GENERAL_NAMES, GENERAL_NAMES_free>;
using Trust = Owned<X509_STORE, X509_STORE_free>;
using Verification = Owned<X509_STORE_CTX, X509_STORE_CTX_free>;

// The last thing that OpenSSL complains of on this thread; nothing is left behind.
std::string OpenSslWords() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return reason == nullptr ? "no reason given" : reason;
}

Status OpenSslFailed(std::string_view what) { return InternalError(fmt::format("{}: {}", what, OpenSslWords())); }

// No text of ours is encrypted; without this, OpenSSL would ask at the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

// Exactly one block of the kind, within the limit.
Status CheckPem(std::string_view pem, std::string_view kind) {
  const std::string begin = fmt::format("-----BEGIN {}-----", kind);
  if (pem.size() > kMaxPemBytes)
    return InvalidArgument(fmt::format("{} bytes, at most {} allowed", pem.size(), kMaxPemBytes));
  int blocks = 0;
  for (size_t at = pem.find("-----BEGIN "); at != pem.npos; at = pem.find("-----BEGIN ", at + 1)) ++blocks;
  if (blocks != 1) return InvalidArgument(fmt::format("{} blocks of PEM, one required", blocks));
  if (pem.find(begin) == pem.npos)
    return InvalidArgument(fmt::format("another kind of PEM block, \"{}\" required", begin));
  return OkStatus();
}

// `Read` is one of OpenSSL's PEM_read_bio_...
template <typename Handle, auto Read>
StatusOr<Handle> ParsePem(std::string_view pem, std::string_view what, std::string_view kind) {
  const std::string context = fmt::format("read {}", what);
  if (const Status status = CheckPem(pem, kind); !status.ok()) return status.WithContext(context);
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Handle handle(Read(bio.get(), nullptr, NoPassword, nullptr));
  if (handle == nullptr)
    return InvalidArgument(fmt::format("{}: cut off or changed ({}); copy it again", context, OpenSslWords()));
  return handle;
}

StatusOr<Certificate> ParseCertificate(std::string_view pem) {
  return ParsePem<Certificate, PEM_read_bio_X509>(pem, "certificate", "CERTIFICATE");
}
StatusOr<Request> ParseRequest(std::string_view pem) {
  return ParsePem<Request, PEM_read_bio_X509_REQ>(pem, "signing request", "CERTIFICATE REQUEST");
}
StatusOr<Key> ParseKey(std::string_view pem) {
  return ParsePem<Key, PEM_read_bio_PrivateKey>(pem, "key", "PRIVATE KEY");
}

// `write` puts a PEM text into the BIO that it is given.
template <typename Write>
StatusOr<std::string> WritePem(const Write& write) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || write(bio.get()) != 1) return OpenSslFailed("write PEM");
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

StatusOr<std::string> KeyPem(EVP_PKEY* key) {
  return WritePem(
      [&](BIO* bio) { return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
}
StatusOr<std::string> CertificatePem(X509* certificate) {
  return WritePem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

StatusOr<Key> DrawKey() {
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslFailed("make key");
  return key;
}

bool IsP256(EVP_PKEY* key) {
  char group[32] = {};
  size_t size = 0;
  return key != nullptr && EVP_PKEY_get_base_id(key) == EVP_PKEY_EC &&
         EVP_PKEY_get_group_name(key, group, sizeof group, &size) == 1 && std::string_view(group) == "prime256v1";
}

// --- Names ---------------------------------------------------------------------------------------------------------

bool AddEntry(X509_NAME* name, int nid, std::string_view text) {
  return X509_NAME_add_entry_by_NID(name, nid, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

// `unit` may be empty: an authority has none.
StatusOr<SubjectName> MakeName(std::string_view unit, std::string_view common_name) {
  SubjectName name(X509_NAME_new());
  const bool is_made = name != nullptr && AddEntry(name.get(), NID_organizationName, kOrganization) &&
                       (unit.empty() || AddEntry(name.get(), NID_organizationalUnitName, unit)) &&
                       AddEntry(name.get(), NID_commonName, common_name);
  if (!is_made) return OpenSslFailed("make subject");
  return name;
}

StatusOr<std::string> ReadEntry(const X509_NAME* name, int nid, std::string_view what) {
  const int at = X509_NAME_get_index_by_NID(name, nid, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(name, nid, at) >= 0)
    return InvalidArgument(fmt::format("its subject has {} {}, one required", at < 0 ? "no" : "more than one", what));
  const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                     static_cast<size_t>(ASN1_STRING_length(text)));
}

bool IsMachine(Role role) { return role == Role::kDevice || role == Role::kWorker || role == Role::kServer; }

// Bytes of strangers, fit for a message.
std::string Printable(std::string_view text) {
  std::string shown(text.substr(0, 80));
  std::replace_if(shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

Status CheckName(std::string_view name) {
  if (IsFarmName(name)) return OkStatus();
  return InvalidArgument(fmt::format("the name \"{}\" is not [a-z0-9._-]{{1,64}}; choose another", Printable(name)));
}

Status CheckSubject(const CertificateSubject& subject) {
  if (!IsMachine(subject.role)) {
    return InvalidArgument(
        fmt::format("the role \"{}\" has no certificates; device, worker and server have", RoleName(subject.role)));
  }
  return CheckName(subject.name);
}

StatusOr<CertificateSubject> ReadSubject(const X509_NAME* name) {
  ASSIGN_OR_RETURN(const std::string unit, ReadEntry(name, NID_organizationalUnitName, "role (OU)"));
  ASSIGN_OR_RETURN(const std::string common_name, ReadEntry(name, NID_commonName, "name (CN)"));
  const std::optional<Role> role = ParseRole(unit);
  if (!role.has_value() || !IsMachine(*role)) {
    return InvalidArgument(
        fmt::format("the role \"{}\" has no certificates; device, worker and server have", Printable(unit)));
  }
  CertificateSubject subject{*role, common_name};
  RETURN_IF_ERROR(CheckSubject(subject));
  return subject;
}

// --- Serial numbers and times --------------------------------------------------------------------------------------

Status CheckSerial(const CertificateSerial& serial) {
  if (serial != CertificateSerial{}) return OkStatus();
  return InvalidArgument("sign certificate: the serial number is zero; draw another");
}

Status SetSerial(X509* certificate, const CertificateSerial& serial) {
  const BigNumber number(BN_bin2bn(serial.bytes.data(), static_cast<int>(serial.bytes.size()), nullptr));
  const bool is_set =
      number != nullptr && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
  return is_set ? OkStatus() : OpenSslFailed("set serial number");
}

StatusOr<CertificateSerial> ReadSerial(const X509* certificate) {
  const BigNumber number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  CertificateSerial serial;
  const bool fits = number != nullptr && BN_is_negative(number.get()) == 0 && BN_is_zero(number.get()) == 0 &&
                    BN_bn2binpad(number.get(), serial.bytes.data(), static_cast<int>(serial.bytes.size())) >= 0;
  ERR_clear_error();
  if (!fits) return InvalidArgument("its serial number is not a positive one of 16 bytes");
  return serial;
}

Status CheckValidity(const Validity& validity) {
  if (validity.not_before_unix_ns >= 0 && validity.not_before_unix_ns < validity.not_after_unix_ns) return OkStatus();
  return InvalidArgument(
      fmt::format("sign certificate: valid from {} to {} ns since 1970; an end after the begin required",
                  validity.not_before_unix_ns, validity.not_after_unix_ns));
}

Status SetValidity(X509* certificate, const Validity& validity) {
  const bool is_set =
      ASN1_TIME_set(X509_getm_notBefore(certificate), validity.not_before_unix_ns / kSecond) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(certificate), validity.not_after_unix_ns / kSecond) != nullptr;
  return is_set ? OkStatus() : OpenSslFailed("set validity");
}

StatusOr<int64_t> ReadTime(const ASN1_TIME* time) {
  const Time epoch(ASN1_TIME_set(nullptr, 0));
  int days = 0, seconds = 0;
  constexpr int kMostDays = 100'000;  // To 2243: what Unix nanoseconds can say ends in 2262.
  if (epoch == nullptr || ASN1_TIME_diff(&days, &seconds, epoch.get(), time) != 1 || days < 0 || days > kMostDays) {
    ERR_clear_error();
    return InvalidArgument("its validity is not a time between 1970 and 2243");
  }
  return (int64_t{days} * 86'400 + seconds) * kSecond;
}

std::string UtcText(int64_t unix_ns) {
  const time_t seconds = unix_ns / kSecond;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

// --- Signing -------------------------------------------------------------------------------------------------------

Status AddExtension(X509* certificate, const X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, const_cast<X509*>(issuer), certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  const bool is_added = extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
  return is_added ? OkStatus() : OpenSslFailed(fmt::format("add extension {}", OBJ_nid2sn(nid)));
}

struct ExtensionText {
  int nid;
  const char* value;
};
Status AddExtensions(X509* certificate, const X509* issuer, std::initializer_list<ExtensionText> extensions) {
  for (const ExtensionText& extension : extensions)
    RETURN_IF_ERROR(AddExtension(certificate, issuer, extension.nid, extension.value));
  return OkStatus();
}

// Letters, digits, dashes and dots; no part is empty or longer than 63.
bool IsHostName(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  size_t part = 0;
  for (const char c : host) {
    if (c == '.' && part == 0) return false;
    if (c != '.' && c != '-' && !std::isalnum(static_cast<unsigned char>(c))) return false;
    part = c == '.' ? 0 : part + 1;
    if (part > 63) return false;
  }
  return part > 0;
}

// Takes `value`, on failure too.
Status PushName(GENERAL_NAMES* names, int type, ASN1_OCTET_STRING* value) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  if (name == nullptr) {
    ASN1_OCTET_STRING_free(value);
    return OpenSslFailed("make host name");
  }
  GENERAL_NAME_set0_value(name, type, value);
  if (sk_GENERAL_NAME_push(names, name) > 0) return OkStatus();
  GENERAL_NAME_free(name);
  return OpenSslFailed("make host name");
}

Status AddHost(GENERAL_NAMES* names, const std::string& host) {
  ASN1_OCTET_STRING* address = a2i_IPADDRESS(host.c_str());
  ERR_clear_error();
  if (address != nullptr) return PushName(names, GEN_IPADD, address);
  if (!IsHostName(host)) {
    return InvalidArgument(fmt::format(
        "sign certificate: \"{}\" is neither a host's name nor an IP address; give it without port", Printable(host)));
  }
  ASN1_IA5STRING* text = ASN1_IA5STRING_new();
  if (text == nullptr || ASN1_STRING_set(text, host.data(), static_cast<int>(host.size())) != 1) {
    ASN1_IA5STRING_free(text);
    return OpenSslFailed("make host name");
  }
  return PushName(names, GEN_DNS, text);
}

Status AddHosts(X509* certificate, const std::vector<std::string>& hosts) {
  const Names names(GENERAL_NAMES_new());
  for (const std::string& host : hosts) RETURN_IF_ERROR(AddHost(names.get(), host));
  const bool is_added = X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
  return is_added ? OkStatus() : OpenSslFailed("add host names");
}

// A version 3 certificate of a key, nothing signed yet.
StatusOr<Certificate> NewCertificate(const X509_NAME* subject, const X509_NAME* issuer, EVP_PKEY* key,
                                     const CertificateSerial& serial, const Validity& validity) {
  RETURN_IF_ERROR(CheckSerial(serial));
  RETURN_IF_ERROR(CheckValidity(validity));
  Certificate certificate(X509_new());
  const bool is_made = certificate != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                       X509_set_subject_name(certificate.get(), subject) == 1 &&
                       X509_set_issuer_name(certificate.get(), issuer) == 1 &&
                       X509_set_pubkey(certificate.get(), key) == 1;
  if (!is_made) return OpenSslFailed("make certificate");
  RETURN_IF_ERROR(SetSerial(certificate.get(), serial));
  RETURN_IF_ERROR(SetValidity(certificate.get(), validity));
  return certificate;
}

StatusOr<std::string> Sign(X509* certificate, EVP_PKEY* key) {
  if (X509_sign(certificate, key, EVP_sha256()) <= 0) return OpenSslFailed("sign certificate");
  return CertificatePem(certificate);
}

Status CheckHosts(Role role, const std::vector<std::string>& hosts) {
  if (hosts.empty() != (role == Role::kServer)) return OkStatus();
  return InvalidArgument(fmt::format("sign certificate: {} host names for a {}; {}", hosts.size(), RoleName(role),
                                     role == Role::kServer ? "give at least one" : "only a server has some"));
}

// The extensions of what an authority signs.
Status Describe(X509* certificate, const X509* issuer, Role role, const std::vector<std::string>& hosts) {
  const char* usage = role == Role::kServer ? "serverAuth" : "clientAuth";
  RETURN_IF_ERROR(AddExtensions(certificate, issuer,
                                {{NID_basic_constraints, "critical,CA:FALSE"},
                                 {NID_key_usage, "critical,digitalSignature"},
                                 {NID_ext_key_usage, usage},
                                 {NID_subject_key_identifier, "hash"},
                                 {NID_authority_key_identifier, "keyid:always"}}));
  return hosts.empty() ? OkStatus() : AddHosts(certificate, hosts);
}

struct VerifiedRequest {
  Request request;
  CertificateSubject subject;
};

// One key type keeps a signature's cost small, whoever sends the request.
StatusOr<VerifiedRequest> VerifyRequest(std::string_view request_pem) {
  VerifiedRequest verified;
  ASSIGN_OR_RETURN(verified.request, ParseRequest(request_pem));
  EVP_PKEY* key = X509_REQ_get0_pubkey(verified.request.get());
  if (!IsP256(key)) {
    ERR_clear_error();
    return InvalidArgument("read signing request: its key is not one of P-256; make it with `lathe-device join`");
  }
  const bool is_signed = X509_REQ_verify(verified.request.get(), key) == 1;
  ERR_clear_error();
  if (!is_signed)
    return InvalidArgument("read signing request: its signature is not that of its key; make a new request");
  StatusOr<CertificateSubject> subject = ReadSubject(X509_REQ_get_subject_name(verified.request.get()));
  if (!subject.ok()) return subject.status().WithContext("read signing request");
  verified.subject = *std::move(subject);
  return verified;
}

std::string HostText(const GENERAL_NAME* name) {
  int type = 0;
  const auto* value = static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(name, &type));
  const unsigned char* bytes = type == GEN_DNS || type == GEN_IPADD ? ASN1_STRING_get0_data(value) : nullptr;
  const int size = bytes == nullptr ? 0 : ASN1_STRING_length(value);
  if (type == GEN_DNS) return Printable({reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)});
  char text[INET6_ADDRSTRLEN] = {};
  if (size == 4) inet_ntop(AF_INET, bytes, text, sizeof text);
  if (size == 16) inet_ntop(AF_INET6, bytes, text, sizeof text);
  return text;
}

std::vector<std::string> ReadHosts(const X509* certificate) {
  std::vector<std::string> hosts;
  const Names names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i)
    hosts.push_back(HostText(sk_GENERAL_NAME_value(names.get(), i)));
  return hosts;
}

StatusOr<Validity> ReadValidity(const X509* certificate) {
  Validity validity;
  ASSIGN_OR_RETURN(validity.not_before_unix_ns, ReadTime(X509_get0_notBefore(certificate)));
  ASSIGN_OR_RETURN(validity.not_after_unix_ns, ReadTime(X509_get0_notAfter(certificate)));
  return validity;
}

StatusOr<CertificateFacts> ReadFacts(const X509* certificate) {
  CertificateFacts facts;
  ASSIGN_OR_RETURN(facts.subject, ReadSubject(X509_get_subject_name(certificate)));
  ASSIGN_OR_RETURN(facts.serial, ReadSerial(certificate));
  ASSIGN_OR_RETURN(facts.validity, ReadValidity(certificate));
  facts.hosts = ReadHosts(certificate);
  return facts;
}

// --- Verifying -----------------------------------------------------------------------------------------------------

// In words, of what OpenSSL found at one certificate of the chain.
std::string WhyRefused(int error, const X509* at, int64_t now) {
  const bool is_authority = X509_check_ca(const_cast<X509*>(at)) != 0;
  const std::string whose = is_authority ? "the authority's own certificate" : "it";
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("{} expired at {}, it is {} here; {}", whose,
                         UtcText(ReadTime(X509_get0_notAfter(at)).ok() ? *ReadTime(X509_get0_notAfter(at)) : 0),
                         UtcText(now), is_authority ? "make a new authority" : "join again, or set the clock");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("{} is not valid before {}, it is {} here; set the clock", whose,
                         UtcText(ReadTime(X509_get0_notBefore(at)).ok() ? *ReadTime(X509_get0_notBefore(at)) : 0),
                         UtcText(now));
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "it was changed after it was signed; join again";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return "another authority than this farm's signed it; join this farm";
    default:
      return fmt::format("{}; join again", X509_verify_cert_error_string(error));
  }
}

StatusOr<Verification> PrepareVerification(X509_STORE* trust, X509* certificate, Role role, int64_t now) {
  Verification verification(X509_STORE_CTX_new());
  if (verification == nullptr || X509_STORE_CTX_init(verification.get(), trust, certificate, nullptr) != 1)
    return OpenSslFailed("verify certificate");
  X509_VERIFY_PARAM* rules = X509_STORE_CTX_get0_param(verification.get());
  X509_VERIFY_PARAM_set_time(rules, now / kSecond);
  X509_VERIFY_PARAM_set_flags(rules, X509_V_FLAG_X509_STRICT);
  X509_VERIFY_PARAM_set_purpose(rules, role == Role::kServer ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT);
  return verification;
}

// Whether the authority signed it, for this use, and both are in force.
Status VerifyChain(X509* authority, X509* certificate, Role role, int64_t now) {
  const Trust trust(X509_STORE_new());
  if (trust == nullptr || X509_STORE_add_cert(trust.get(), authority) != 1) return OpenSslFailed("trust authority");
  ASSIGN_OR_RETURN(const Verification verification, PrepareVerification(trust.get(), certificate, role, now));
  const bool is_good = X509_verify_cert(verification.get()) == 1;
  ERR_clear_error();
  if (is_good) return OkStatus();
  const X509* at = X509_STORE_CTX_get_current_cert(verification.get());
  return Unauthenticated(fmt::format("verify certificate: {}", WhyRefused(X509_STORE_CTX_get_error(verification.get()),
                                                                          at == nullptr ? certificate : at, now)));
}

}  // namespace

std::string CertificateSerial::ToHex() const {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

StatusOr<CertificateSerial> CertificateSerial::FromHex(std::string_view hex) {
  const StatusOr<Digest> padded = Digest::FromHex(std::string(hex) + std::string(32, '0'));
  if (hex.size() != 32 || !padded.ok()) {
    return InvalidArgument(
        fmt::format("serial number \"{}\": {} characters, 32 hex digits required", Printable(hex), hex.size()));
  }
  return FromBytes(padded->raw().substr(0, 16));
}

StatusOr<CertificateSerial> CertificateSerial::FromBytes(std::string_view raw) {
  if (raw.size() != 16) return InvalidArgument(fmt::format("serial number: {} bytes, 16 required", raw.size()));
  CertificateSerial serial;
  std::memcpy(serial.bytes.data(), raw.data(), raw.size());
  return serial;
}

StatusOr<KeyAndCertificate> MakeAuthority(std::string_view name, const CertificateSerial& serial,
                                          const Validity& validity) {
  if (const Status status = CheckName(name); !status.ok()) return status.WithContext("make authority");
  ASSIGN_OR_RETURN(const Key key, DrawKey());
  ASSIGN_OR_RETURN(const SubjectName subject, MakeName("", name));
  ASSIGN_OR_RETURN(const Certificate certificate,
                   NewCertificate(subject.get(), subject.get(), key.get(), serial, validity));
  RETURN_IF_ERROR(AddExtensions(certificate.get(), certificate.get(),
                                {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                 {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                 {NID_subject_key_identifier, "hash"},
                                 {NID_authority_key_identifier, "keyid:always"}}));
  KeyAndCertificate authority;
  ASSIGN_OR_RETURN(authority.certificate_pem, Sign(certificate.get(), key.get()));
  ASSIGN_OR_RETURN(authority.key_pem, KeyPem(key.get()));
  return authority;
}

StatusOr<KeyAndRequest> MakeSigningRequest(const CertificateSubject& subject) {
  if (const Status status = CheckSubject(subject); !status.ok()) return status.WithContext("make signing request");
  ASSIGN_OR_RETURN(const Key key, DrawKey());
  ASSIGN_OR_RETURN(const SubjectName name, MakeName(RoleName(subject.role), subject.name));
  const Request request(X509_REQ_new());
  const bool is_made = request != nullptr && X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) == 1 &&
                       X509_REQ_set_subject_name(request.get(), name.get()) == 1 &&
                       X509_REQ_set_pubkey(request.get(), key.get()) == 1 &&
                       X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0;
  if (!is_made) return OpenSslFailed("make signing request");
  KeyAndRequest made;
  ASSIGN_OR_RETURN(made.key_pem, KeyPem(key.get()));
  ASSIGN_OR_RETURN(made.request_pem, WritePem([&](BIO* bio) { return PEM_write_bio_X509_REQ(bio, request.get()); }));
  return made;
}

StatusOr<CertificateSubject> ReadSigningRequest(std::string_view request_pem) {
  ASSIGN_OR_RETURN(const VerifiedRequest verified, VerifyRequest(request_pem));
  return verified.subject;
}

StatusOr<std::string> SignCertificate(const KeyAndCertificate& authority, std::string_view request_pem,
                                      const CertificateOrder& order) {
  RETURN_IF_ERROR(CheckKeyPair(authority).WithContext("sign certificate"));
  ASSIGN_OR_RETURN(const VerifiedRequest asked, VerifyRequest(request_pem));
  RETURN_IF_ERROR(CheckHosts(asked.subject.role, order.hosts));
  ASSIGN_OR_RETURN(const Certificate issuer, ParseCertificate(authority.certificate_pem));
  ASSIGN_OR_RETURN(const Key issuer_key, ParseKey(authority.key_pem));
  ASSIGN_OR_RETURN(const SubjectName subject, MakeName(RoleName(asked.subject.role), asked.subject.name));
  ASSIGN_OR_RETURN(const Certificate certificate,
                   NewCertificate(subject.get(), X509_get_subject_name(issuer.get()),
                                  X509_REQ_get0_pubkey(asked.request.get()), order.serial, order.validity));
  RETURN_IF_ERROR(Describe(certificate.get(), issuer.get(), asked.subject.role, order.hosts));
  return Sign(certificate.get(), issuer_key.get());
}

StatusOr<CertificateFacts> ReadCertificate(std::string_view certificate_pem) {
  ASSIGN_OR_RETURN(const Certificate certificate, ParseCertificate(certificate_pem));
  StatusOr<CertificateFacts> facts = ReadFacts(certificate.get());
  if (!facts.ok()) return facts.status().WithContext("read certificate");
  return facts;
}

StatusOr<CertificateFacts> VerifyCertificate(std::string_view authority_pem, std::string_view certificate_pem,
                                             Role role, int64_t now_unix_ns) {
  ASSIGN_OR_RETURN(const Certificate authority, ParseCertificate(authority_pem));
  ASSIGN_OR_RETURN(const Certificate certificate, ParseCertificate(certificate_pem));
  StatusOr<CertificateFacts> facts = ReadFacts(certificate.get());
  if (!facts.ok()) return facts.status().WithContext("verify certificate");
  if (facts->subject.role != role) {
    return Unauthenticated(fmt::format("verify certificate: it is one of a {} (\"{}\"), a {}'s is required",
                                       RoleName(facts->subject.role), facts->subject.name, RoleName(role)));
  }
  RETURN_IF_ERROR(VerifyChain(authority.get(), certificate.get(), role, now_unix_ns));
  return facts;
}

StatusOr<Validity> CertificateValidity(std::string_view certificate_pem) {
  ASSIGN_OR_RETURN(const Certificate certificate, ParseCertificate(certificate_pem));
  const StatusOr<Validity> validity = ReadValidity(certificate.get());
  return validity.ok() ? validity : validity.status().WithContext("read certificate");
}

Status CheckKeyPair(const KeyAndCertificate& pair) {
  ASSIGN_OR_RETURN(const Key key, ParseKey(pair.key_pem));
  ASSIGN_OR_RETURN(const Certificate certificate, ParseCertificate(pair.certificate_pem));
  const bool belongs = X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return belongs ? OkStatus()
                 : InvalidArgument("check key: it is not that of the certificate; use the two of one folder");
}

StatusOr<Digest> CertificateDigest(std::string_view certificate_pem) {
  ASSIGN_OR_RETURN(const Certificate certificate, ParseCertificate(certificate_pem));
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate.get(), &der);
  if (size < 0) return OpenSslFailed("encode certificate");
  const Digest digest = Sha256({reinterpret_cast<const char*>(der), static_cast<size_t>(size)});
  OPENSSL_free(der);
  return digest;
}

}  // namespace lathe
