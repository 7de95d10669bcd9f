#include "rpc/device/result_spool.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "rpc/device_message.h"
#include "support/file.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

// nullopt if the file is not what this class wrote.
std::optional<v1::MeasureResult> ReadResult(const fs::path& path) {
  const StatusOr<std::string> bytes = ReadWholeFile(path);
  if (!bytes.ok() || bytes->size() < 32) return std::nullopt;
  const std::string_view content = std::string_view(*bytes).substr(0, bytes->size() - 32);
  if (Sha256(content).raw() != std::string_view(*bytes).substr(content.size())) return std::nullopt;
  v1::MeasureResult result;
  if (!result.ParseFromArray(content.data(), static_cast<int>(content.size())) || !CheckMeasureResult(result).ok())
    return std::nullopt;
  return result;
}

}  // namespace

StatusOr<ResultSpool> ResultSpool::Open(std::string directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    return Unavailable(fmt::format("open result spool {}: {}; choose another --data", directory, error.message()));
  return ResultSpool(std::move(directory));
}

std::vector<v1::MeasureResult> ResultSpool::Load() {
  std::vector<v1::MeasureResult> results;
  std::vector<fs::path> broken;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_, error)) {
    if (std::optional<v1::MeasureResult> result = ReadResult(entry.path()))
      results.push_back(*std::move(result));
    else
      broken.push_back(entry.path());
  }
  for (const fs::path& path : broken) fs::remove(path, error);
  return results;
}

Status ResultSpool::Store(const v1::MeasureResult& result) {
  const StatusOr<Digest> key = Digest::FromBytes(result.key());
  CHECK(key.ok()) << "a result without a key was spooled";
  const std::string path = directory_ + "/" + key->ToHex(), temporary = path + ".tmp";
  const std::string content = result.SerializeAsString();
  std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
  file << content << Sha256(content).raw();
  file.close();
  if (file.fail() || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    unlink(temporary.c_str());
    return Unavailable(fmt::format("spool result {}: {}; it is kept in memory only", path, std::strerror(reason)));
  }
  return OkStatus();
}

void ResultSpool::Delete(const Digest& key) { unlink((directory_ + "/" + key.ToHex()).c_str()); }

}  // namespace lathe
