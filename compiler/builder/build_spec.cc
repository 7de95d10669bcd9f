#include "compiler/builder/build_spec.h"

#include <fmt/format.h>

#include <cstring>

#include "support/status_macros.h"

namespace lathe {
namespace {

enum MessageType : uint8_t { kReady = 1, kSpec = 2, kResult = 3 };
constexpr size_t kHeaderBytes = 5;  // u32 length of what follows the header, u8 type.

class Writer {
 public:
  template <typename T>
  void Number(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }  // x86-64 and AArch64 are little-endian.
  void Text(std::string_view text) {
    Number(static_cast<uint32_t>(text.size()));
    out_.append(text);
  }
  std::string Frame(MessageType type) const {
    std::string frame;
    const uint32_t length = static_cast<uint32_t>(out_.size());
    frame.append(reinterpret_cast<const char*>(&length), sizeof(length));
    frame.push_back(static_cast<char>(type));
    return frame + out_;
  }

 private:
  std::string out_;
};

// Reads what may be cut short or made up: after the first thing that does not fit, everything is empty and ok() is
// false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  template <typename T>
  T Number() {
    T value{};
    if (rest_.size() < sizeof(T)) return Fail(), value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }
  std::string Text() {
    const uint32_t size = Number<uint32_t>();
    if (size > rest_.size()) return Fail(), std::string();
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  // A count of items of at least `item_bytes` each: never more than the rest can hold.
  uint32_t Count(size_t item_bytes) {
    const uint32_t count = Number<uint32_t>();
    if (count > rest_.size() / item_bytes) return Fail(), 0;
    return count;
  }
  void Fail() { ok_ = false, rest_ = {}; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

void Write(const BuilderReady& ready, Writer& out) {
  out.Number(ready.protocol_version);
  out.Number(ready.codegen_version);
}

BuilderReady ReadReady(Reader& in) {
  BuilderReady ready;
  ready.protocol_version = in.Number<uint32_t>();
  ready.codegen_version = in.Number<uint32_t>();
  return ready;
}

void Write(const BuildSpec& spec, Writer& out) {
  out.Number(spec.id);
  out.Number(static_cast<uint32_t>(spec.kernels.size()));
  for (const KernelSource& kernel : spec.kernels) {
    out.Text(kernel.name);
    out.Text(kernel.text);
    out.Text(kernel.trace_json);
  }
  out.Number(static_cast<uint32_t>(spec.sections.size()));
  for (const SectionSource& section : spec.sections) {
    out.Text(section.name);
    out.Text(section.path);
  }
  out.Text(spec.target);
  out.Text(spec.output_path);
  out.Number(spec.kernel_abi);
  out.Number(static_cast<uint8_t>(spec.refuses_spills));
}

BuildSpec ReadSpec(Reader& in) {
  BuildSpec spec;
  spec.id = in.Number<uint64_t>();
  for (uint32_t n = in.Count(12); n > 0; --n) {
    KernelSource kernel;
    kernel.name = in.Text(), kernel.text = in.Text(), kernel.trace_json = in.Text();
    spec.kernels.push_back(std::move(kernel));
  }
  for (uint32_t n = in.Count(8); n > 0; --n) {
    SectionSource section;
    section.name = in.Text(), section.path = in.Text();
    spec.sections.push_back(std::move(section));
  }
  spec.target = in.Text();
  spec.output_path = in.Text();
  spec.kernel_abi = in.Number<uint32_t>();
  spec.refuses_spills = in.Number<uint8_t>() != 0;
  return spec;
}

constexpr Duration BuildTimes::* kTimes[] = {&BuildTimes::parse, &BuildTimes::schedule, &BuildTimes::lower,
                                             &BuildTimes::emit,  &BuildTimes::optimize, &BuildTimes::generate,
                                             &BuildTimes::link,  &BuildTimes::write};

void Write(const BuildResult& result, Writer& out) {
  out.Number(result.id);
  if (const auto* error = std::get_if<BuildError>(&result.outcome)) {
    out.Number(static_cast<uint8_t>(error->kind));
    out.Number(static_cast<uint32_t>(error->code));
    out.Text(error->message);
    return;
  }
  const BuildArtifact& artifact = std::get<BuildArtifact>(result.outcome);
  out.Number(uint8_t{0});
  out.Text(artifact.path);
  out.Text(artifact.digest.raw());
  out.Number(artifact.size_bytes);
  for (const auto time : kTimes) out.Number(static_cast<int64_t>((artifact.times.*time).count()));
  out.Number(static_cast<uint32_t>(artifact.warnings.size()));
  for (const std::string& warning : artifact.warnings) out.Text(warning);
}

BuildResult ReadResult(Reader& in) {
  BuildResult result;
  result.id = in.Number<uint64_t>();
  if (const uint8_t kind = in.Number<uint8_t>(); kind != 0) {
    BuildError error;
    error.kind = static_cast<BuildErrorKind>(kind);
    const uint32_t code = in.Number<uint32_t>();
    error.code = static_cast<StatusCode>(code);
    error.message = in.Text();
    if (kind > 5 || code == 0 || code > 16) in.Fail();
    result.outcome = std::move(error);
    return result;
  }
  BuildArtifact artifact;
  artifact.path = in.Text();
  if (const StatusOr<Digest> digest = Digest::FromBytes(in.Text()); digest.ok())
    artifact.digest = *digest;
  else
    in.Fail();
  artifact.size_bytes = in.Number<uint64_t>();
  for (const auto time : kTimes) artifact.times.*time = Duration(in.Number<int64_t>());
  for (uint32_t n = in.Count(4); n > 0; --n) artifact.warnings.push_back(in.Text());
  result.outcome = std::move(artifact);
  return result;
}

}  // namespace

std::string_view BuildErrorName(BuildErrorKind kind) {
  switch (kind) {
    case BuildErrorKind::kBuildError:
      return "BUILD_ERROR";
    case BuildErrorKind::kBuildTimeout:
      return "BUILD_TIMEOUT";
    case BuildErrorKind::kBuilderDied:
      return "BUILDER_DIED";
    case BuildErrorKind::kBuilderMemory:
      return "BUILDER_MEMORY";
    case BuildErrorKind::kOutputError:
      return "OUTPUT_ERROR";
  }
  return "BUILD_ERROR";
}

std::string EncodeMessage(const BuilderMessage& message) {
  Writer out;
  std::visit([&](const auto& body) { Write(body, out); }, message);
  return out.Frame(std::array{kReady, kSpec, kResult}[message.index()]);
}

StatusOr<std::optional<BuilderMessage>> TakeMessage(std::string& bytes) {
  if (bytes.size() < kHeaderBytes) return std::optional<BuilderMessage>();
  uint32_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  const uint8_t type = static_cast<uint8_t>(bytes[4]);
  if (length > kMaxBuilderMessageBytes)
    return DataLoss(fmt::format("builder message: {} bytes, at most {}", length, kMaxBuilderMessageBytes));
  if (type < kReady || type > kResult) return DataLoss(fmt::format("builder message: unknown type {}", type));
  if (bytes.size() - kHeaderBytes < length) return std::optional<BuilderMessage>();
  Reader in(std::string_view(bytes).substr(kHeaderBytes, length));
  std::optional<BuilderMessage> message;
  if (type == kReady)
    message = ReadReady(in);
  else if (type == kSpec)
    message = ReadSpec(in);
  else
    message = ReadResult(in);
  if (!in.ok() || !in.at_end())
    return DataLoss(fmt::format("builder message of type {}: its {} bytes do not fit its fields", type, length));
  bytes.erase(0, kHeaderBytes + length);
  return message;
}

}  // namespace lathe
