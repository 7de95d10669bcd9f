// Checks of single request fields, with messages that name the field.
#pragma once

#include <string_view>

#include "support/digest.h"
#include "support/status.h"
#include "tuner/database/rows.h"

namespace lathe {

StatusOr<Digest> ReadDigest(std::string_view field, std::string_view raw);
StatusOr<int64_t> ReadId(std::string_view field, int64_t id);        // Positive.
StatusOr<int64_t> ReadCount(std::string_view field, int64_t count);  // Not negative.
// 1 to `max` characters, none of them a control character.
StatusOr<std::string> ReadName(std::string_view field, std::string_view text, size_t max);
StatusOr<Page> ReadPage(int32_t page_size, std::string_view page_token);
std::string PageToken(int64_t last_id);                                            // Read by ReadPage.
StatusOr<Workload> ReadWorkload(std::string_view field, const std::string& text);  // TVMScript of one PrimFunc.

}  // namespace lathe
