#include "tuner/service/request_fields.h"

#include <fmt/format.h>

#include <charconv>

#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int32_t kDefaultPage = 100, kLargestPage = 1000;

}  // namespace

StatusOr<Digest> ReadDigest(std::string_view field, std::string_view raw) {
  StatusOr<Digest> digest = Digest::FromBytes(raw);
  if (!digest.ok())
    return InvalidArgument(fmt::format("{}: {} bytes, a SHA-256 digest of 32 required", field, raw.size()));
  return digest;
}

StatusOr<int64_t> ReadId(std::string_view field, int64_t id) {
  if (id > 0) return id;
  return InvalidArgument(fmt::format("{}: {}, a positive number required", field, id));
}

StatusOr<int64_t> ReadCount(std::string_view field, int64_t count) {
  if (count >= 0) return count;
  return InvalidArgument(fmt::format("{}: {}, zero or more required", field, count));
}

StatusOr<std::string> ReadName(std::string_view field, std::string_view text, size_t max) {
  if (text.empty() || text.size() > max) {
    return InvalidArgument(fmt::format("{}: {} characters, 1 to {} required", field, text.size(), max));
  }
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return InvalidArgument(fmt::format("{}: holds control character {:#04x}; use printable text", field, c));
    }
  }
  return std::string(text);
}

StatusOr<Page> ReadPage(int32_t page_size, std::string_view page_token) {
  if (page_size < 0 || page_size > kLargestPage) {
    return InvalidArgument(
        fmt::format("page_size: {}, 1 to {} required, or 0 for {}", page_size, kLargestPage, kDefaultPage));
  }
  Page page{.after_id = 0, .limit = page_size == 0 ? kDefaultPage : page_size};
  if (page_token.empty()) return page;
  const auto [end, error] = std::from_chars(page_token.data(), page_token.data() + page_token.size(), page.after_id);
  if (error != std::errc() || end != page_token.data() + page_token.size() || page.after_id < 0) {
    return InvalidArgument(
        fmt::format("page_token \"{}\": not one that this service gave; begin with an empty one", page_token));
  }
  return page;
}

std::string PageToken(int64_t last_id) { return fmt::format("{}", last_id); }

StatusOr<Workload> ReadWorkload(std::string_view field, const std::string& text) {
  ASSIGN_OR_RETURN(const PrimFunc func, ParsePrimFunc(text, field));
  return Workload{WorkloadDigest(func), func.name, text};
}

}  // namespace lathe
