// Lists of the service API, whole.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <vector>

#include "support/status_macros.h"

namespace lathe {

// All items of a paged list: AllPages(tuning, &TuningApi::ListJobs, &v1::ListJobsResponse::jobs).
template <typename Api, typename Request, typename Response, typename Item>
StatusOr<std::vector<Item>> AllPages(Api& api, StatusOr<Response> (Api::*list)(const Request&),
                                     const google::protobuf::RepeatedPtrField<Item>& (Response::*items)() const,
                                     Request request = {}) {
  constexpr int kPage = 1000;
  request.set_page_size(kPage);
  std::vector<Item> all;
  do {
    ASSIGN_OR_RETURN(const Response page, (api.*list)(request));
    all.insert(all.end(), (page.*items)().begin(), (page.*items)().end());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

}  // namespace lathe
