#include "tuner/measure/parse_workload.h"

#include <fmt/format.h>

#include "compiler/script/canonical.h"
#include "compiler/script/parser.h"
#include "support/status_macros.h"

namespace lathe {

StatusOr<PrimFunc> ParseWorkload(const Digest& digest, const std::string& name, const std::string& text) {
  ASSIGN_OR_RETURN(PrimFunc func, ParsePrimFunc(text, name));
  if (WorkloadDigest(func) == digest) return func;
  return DataLoss(
      fmt::format("read workload {} \"{}\": its text computes something else, it was changed; take it from another "
                  "database or tune anew in a new one",
                  digest.ToHex().substr(0, 12), name));
}

}  // namespace lathe
