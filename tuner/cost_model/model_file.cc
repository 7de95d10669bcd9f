#include "tuner/cost_model/model_file.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>

#include "support/digest.h"
#include "support/status_macros.h"
#include "tuner/feature/feature_extractor.h"

namespace lathe {
namespace {

constexpr std::string_view kMagic = "LATHECM\n";
constexpr uint32_t kVersion = 1;
constexpr uint32_t kMaxBoosters = 64;

template <typename T>
void Put(std::string& bytes, T value) {  // Little-endian, as every machine that we build for.
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
StatusOr<T> Take(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) return DataLoss("load cost model: the file ends early; train it anew");
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

}  // namespace

std::string EncodeModelFile(const ModelFile& file) {
  std::string body;
  Put(body, file.draft_weight);
  Put(body, static_cast<uint32_t>(file.boosters.size()));
  for (const std::string& ubj : file.boosters) {
    Put(body, static_cast<uint32_t>(ubj.size()));
    body += ubj;
  }
  std::string bytes(kMagic);
  Put(bytes, kVersion);
  Put(bytes, static_cast<uint32_t>(kFeatureVersion));
  bytes += Sha256(body).raw();
  return bytes + body;
}

StatusOr<ModelFile> DecodeModelFile(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return InvalidArgument("load cost model: not a saved cost model; train it anew");
  bytes.remove_prefix(kMagic.size());
  ASSIGN_OR_RETURN(const uint32_t version, Take<uint32_t>(bytes));
  ASSIGN_OR_RETURN(const uint32_t features, Take<uint32_t>(bytes));
  if (version != kVersion || features != static_cast<uint32_t>(kFeatureVersion)) {
    return InvalidArgument(fmt::format(
        "load cost model: format {} with features {}, this build reads format {} with features {}; train it anew",
        version, features, kVersion, kFeatureVersion));
  }
  if (bytes.size() < sizeof(Digest::bytes)) return DataLoss("load cost model: the file ends early; train it anew");
  ASSIGN_OR_RETURN(const Digest digest, Digest::FromBytes(bytes.substr(0, sizeof(Digest::bytes))));
  bytes.remove_prefix(sizeof(Digest::bytes));
  if (Sha256(bytes) != digest) return DataLoss("load cost model: its digest does not match its content; train it anew");
  ModelFile file;
  ASSIGN_OR_RETURN(file.draft_weight, Take<double>(bytes));
  ASSIGN_OR_RETURN(const uint32_t count, Take<uint32_t>(bytes));
  if (!std::isfinite(file.draft_weight) || file.draft_weight < 0 || count > kMaxBoosters)
    return DataLoss("load cost model: a number is out of range; train it anew");
  for (uint32_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const uint32_t size, Take<uint32_t>(bytes));
    if (size > bytes.size()) return DataLoss("load cost model: the file ends early; train it anew");
    file.boosters.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  if (!bytes.empty()) return DataLoss("load cost model: bytes are left over; train it anew");
  return file;
}

}  // namespace lathe
