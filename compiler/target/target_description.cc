#include "compiler/target/target_description.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "compiler/target/target_tags.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

enum class AttrType : uint8_t { kBool, kInt, kString, kStrings };
struct AttrRow {
  std::string_view name;
  AttrType type;
};
struct KindRow {
  std::string_view name;
  std::vector<std::string> keys;
  std::vector<AttrRow> attrs;
  TargetAttrs defaults;
};

constexpr AttrRow kCommonAttrs[] = {{"device", AttrType::kString},
                                    {"model", AttrType::kString},
                                    {"libs", AttrType::kStrings},
                                    {"num-cores", AttrType::kInt}};
const std::vector<AttrRow> kCpuAttrs = {{"mattr", AttrType::kStrings},
                                        {"mcpu", AttrType::kString},
                                        {"mtriple", AttrType::kString},
                                        {"mfloat-abi", AttrType::kString},
                                        {"mabi", AttrType::kString},
                                        {"opt-level", AttrType::kInt},
                                        {"fast-math", AttrType::kBool},
                                        {"fast-math-nnan", AttrType::kBool},
                                        {"fast-math-ninf", AttrType::kBool},
                                        {"fast-math-nsz", AttrType::kBool},
                                        {"fast-math-arcp", AttrType::kBool},
                                        {"fast-math-contract", AttrType::kBool},
                                        {"fast-math-reassoc", AttrType::kBool},
                                        {"cl-opt", AttrType::kStrings},
                                        {"jit", AttrType::kString},
                                        {"vector-width", AttrType::kInt},
                                        {"system-lib", AttrType::kBool},
                                        {"runtime", AttrType::kString},
                                        {"march", AttrType::kString},
                                        {"link-params", AttrType::kBool},
                                        {"unpacked-api", AttrType::kBool},
                                        {"interface-api", AttrType::kString},
                                        {"executor", AttrType::kString},
                                        {"workspace-byte-alignment", AttrType::kInt},
                                        {"constants-byte-alignment", AttrType::kInt},
                                        {"vtcm-capacity", AttrType::kInt}};
const std::vector<AttrRow> kGpuAttrs = {{"arch", AttrType::kString},
                                        {"mcpu", AttrType::kString},
                                        {"mtriple", AttrType::kString},
                                        {"mattr", AttrType::kStrings},
                                        {"max_num_threads", AttrType::kInt},
                                        {"max_threads_per_block", AttrType::kInt},
                                        {"thread_warp_size", AttrType::kInt},
                                        {"max_shared_memory_per_block", AttrType::kInt},
                                        {"registers_per_block", AttrType::kInt},
                                        {"l2_cache_size_bytes", AttrType::kInt},
                                        {"max_function_args", AttrType::kInt},
                                        {"texture_spatial_limit", AttrType::kInt},
                                        {"shared_memory_per_block", AttrType::kInt},
                                        {"max_local_memory_per_block", AttrType::kInt},
                                        {"system-lib", AttrType::kBool},
                                        {"image_base_address_alignment", AttrType::kInt},
                                        {"supports_float16", AttrType::kBool},
                                        {"supports_float32", AttrType::kBool},
                                        {"supports_float64", AttrType::kBool},
                                        {"supports_int8", AttrType::kBool},
                                        {"supports_int16", AttrType::kBool},
                                        {"supports_int32", AttrType::kBool},
                                        {"supports_int64", AttrType::kBool},
                                        {"supports_8bit_buffer", AttrType::kBool},
                                        {"supports_16bit_buffer", AttrType::kBool},
                                        {"supports_integer_dot_product", AttrType::kBool},
                                        {"supports_cooperative_matrix", AttrType::kBool},
                                        {"max_push_constants_size", AttrType::kInt},
                                        {"from_device", AttrType::kInt}};

int64_t operator""_n(unsigned long long value) { return static_cast<int64_t>(value); }

// Those that programs for TVM v0.18 name, with the defaults that it fills in.
const std::vector<KindRow>& Kinds() {
  static const auto* kinds = new std::vector<KindRow>{
      {"llvm", {"cpu"}, kCpuAttrs, {}},
      {"c", {"cpu"}, kCpuAttrs, {}},
      {"cuda",
       {"cuda", "gpu"},
       kGpuAttrs,
       {{"arch", "sm_50"}, {"max_num_threads", 1024_n}, {"thread_warp_size", 32_n}}},
      {"nvptx",
       {"cuda", "gpu"},
       kGpuAttrs,
       {{"mcpu", "sm_50"}, {"max_num_threads", 1024_n}, {"thread_warp_size", 32_n}}},
      {"rocm",
       {"rocm", "gpu"},
       kGpuAttrs,
       {{"max_num_threads", 256_n},
        {"max_shared_memory_per_block", 65536_n},
        {"max_threads_per_block", 256_n},
        {"thread_warp_size", 64_n}}},
      {"opencl",
       {"opencl", "gpu"},
       kGpuAttrs,
       {{"max_num_threads", 256_n}, {"texture_spatial_limit", 16384_n}, {"thread_warp_size", 1_n}}},
      {"metal",
       {"metal", "gpu"},
       kGpuAttrs,
       {{"max_function_args", 31_n},
        {"max_num_threads", 256_n},
        {"max_shared_memory_per_block", 32768_n},
        {"thread_warp_size", 16_n}}},
      {"vulkan", {"vulkan", "gpu"}, kGpuAttrs, {{"max_num_threads", 256_n}, {"thread_warp_size", 1_n}}},
      {"webgpu", {"webgpu", "gpu"}, kGpuAttrs, {{"max_num_threads", 256_n}}},
      {"hexagon", {"hexagon", "cpu"}, kCpuAttrs, {{"num-cores", 4_n}}},
      {"ext_dev", {}, kCpuAttrs, {}},
      {"stackvm", {}, kCpuAttrs, {}},
      {"test", {}, kCpuAttrs, {}},
      {"composite", {}, kCpuAttrs, {}}};
  return *kinds;
}

Status DescriptionError(std::string_view name, std::string_view why) {
  return InvalidArgument(fmt::format("target \"{}\": {}", name, why));
}

StatusOr<const KindRow*> FindKind(const std::string& name) {
  for (const KindRow& row : Kinds()) {
    if (row.name == name) return &row;
  }
  return DescriptionError(name,
                          fmt::format("unknown kind or tag; known kinds: {}", fmt::join(KnownTargetKinds(), ", ")));
}

StatusOr<AttrType> TypeOf(const KindRow& kind, const std::string& name) {
  for (const std::span<const AttrRow> rows :
       {std::span<const AttrRow>(kind.attrs), std::span<const AttrRow>(kCommonAttrs)}) {
    for (const AttrRow& row : rows) {
      if (row.name == name) return row.type;
    }
  }
  std::vector<std::string_view> known;
  for (const AttrRow& row : kind.attrs) known.push_back(row.name);
  return DescriptionError(kind.name, fmt::format("unknown attribute \"{}\"; known: {}", name, fmt::join(known, ", ")));
}

std::vector<std::string> SplitAt(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

StatusOr<TargetAttr> AsType(const KindRow& kind, const std::string& name, AttrType type, const TargetAttr& value) {
  const auto* text = std::get_if<std::string>(&value);
  const auto* number = std::get_if<int64_t>(&value);
  const auto* truth = std::get_if<bool>(&value);
  if (type == AttrType::kString && text != nullptr) return value;
  if (type == AttrType::kStrings) {
    if (text != nullptr) return TargetAttr(SplitAt(*text, ','));
    if (std::holds_alternative<std::vector<std::string>>(value)) return value;
  }
  if (type == AttrType::kBool) {
    if (truth != nullptr) return value;
    if (number != nullptr) return TargetAttr(*number != 0);
    if (text != nullptr && (*text == "1" || *text == "true" || *text == "True")) return TargetAttr(true);
    if (text != nullptr && (*text == "0" || *text == "false" || *text == "False")) return TargetAttr(false);
  }
  if (type == AttrType::kInt && number != nullptr) return value;
  if (type == AttrType::kInt && text != nullptr) {
    int64_t parsed = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), parsed);
    if (error == std::errc() && end == text->data() + text->size()) return TargetAttr(parsed);
  }
  return DescriptionError(kind.name, fmt::format("attribute \"{}\" has a value of another type", name));
}

// The options after a kind or tag: "-a=b", "--a=b", "-flag", "-a b".
StatusOr<TargetAttrs> ReadOptions(std::string_view text, const std::vector<std::string>& words) {
  TargetAttrs attrs;
  for (size_t i = 1; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (!word.starts_with("-")) return DescriptionError(text, fmt::format("expected an option, got \"{}\"", word));
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    const size_t equals = word.find('=');
    const bool takes_next = equals == std::string_view::npos && i + 1 < words.size() && !words[i + 1].starts_with("-");
    const std::string name(word.substr(0, equals));
    TargetAttr value(std::string("1"));
    if (equals != std::string_view::npos) value = std::string(word.substr(equals + 1));
    if (takes_next) value = words[++i];
    if (!attrs.emplace(name, value).second)
      return DescriptionError(text, fmt::format("option \"-{}\" stands twice", name));
  }
  return attrs;
}

std::string TextOf(const TargetAttr& value) {
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "1" : "0";
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return fmt::format("{}", fmt::join(std::get<std::vector<std::string>>(value), ","));
}

bool IsOfArm(const TargetAttrs& attrs) {
  const auto triple = attrs.find("mtriple");
  const std::string text = triple == attrs.end() ? "" : TextOf(triple->second);
  return text.starts_with("aarch64") || text.starts_with("arm");
}

// device first: "llvm -device=arm_cpu" has the keys arm_cpu, cpu.
std::vector<std::string> KeysOf(const KindRow& kind, TargetAttrs& attrs) {
  std::vector<std::string> keys;
  const auto add = [&](const std::string& key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  if (const auto given = attrs.find("keys"); given != attrs.end()) {
    const auto* list = std::get_if<std::vector<std::string>>(&given->second);
    for (const std::string& key : list != nullptr ? *list : SplitAt(TextOf(given->second), ',')) add(key);
    attrs.erase(given);
  }
  if (const auto device = attrs.find("device"); device != attrs.end()) add(TextOf(device->second));
  if (kind.name == "llvm" && IsOfArm(attrs)) add("arm_cpu");
  for (const std::string& key : kind.keys) add(key);
  return keys;
}

}  // namespace

StatusOr<TargetDescription> TargetDescription::Parse(std::string_view text) {
  const std::vector<std::string> words = SplitAt(text, ' ');
  if (words.empty()) return DescriptionError(text, "expected a kind, as \"llvm\" or \"cuda\"");
  ASSIGN_OR_RETURN(TargetAttrs attrs, ReadOptions(text, words));
  const auto tag = DeviceTags().find(words[0]);
  if (tag == DeviceTags().end()) {
    attrs.emplace("kind", words[0]);
    return FromAttrs(std::move(attrs));
  }
  const std::vector<std::string> known = SplitAt(tag->second.text, ' ');
  ASSIGN_OR_RETURN(const TargetAttrs of_tag, ReadOptions(tag->second.text, known));
  attrs.insert(of_tag.begin(), of_tag.end());  // What is given besides replaces what the tag says.
  attrs.emplace("kind", known[0]);
  ASSIGN_OR_RETURN(TargetDescription description, FromAttrs(std::move(attrs)));
  description.tag = words[0];
  description.host = tag->second.host;
  return description;
}

StatusOr<TargetDescription> TargetDescription::FromAttrs(TargetAttrs attrs) {
  TargetDescription description;
  if (const auto tag = attrs.find("tag"); tag != attrs.end()) {
    description.tag = TextOf(tag->second);
    attrs.erase(tag);
    if (!attrs.contains("kind")) return Parse(description.tag);
  }
  const auto kind = attrs.find("kind");
  if (kind == attrs.end()) return DescriptionError("", "the field \"kind\" is missing");
  ASSIGN_OR_RETURN(const KindRow* const row, FindKind(TextOf(kind->second)));
  attrs.erase(kind);
  description.kind = row->name;
  description.keys = KeysOf(*row, attrs);
  description.attrs = row->defaults;
  for (const auto& [name, value] : attrs) {
    ASSIGN_OR_RETURN(const AttrType type, TypeOf(*row, name));
    ASSIGN_OR_RETURN(TargetAttr typed, AsType(*row, name, type, value));
    description.attrs.insert_or_assign(name, std::move(typed));
  }
  return description;
}

std::string TargetDescription::ToString() const {
  std::string text = kind;
  if (!keys.empty()) text += fmt::format(" -keys={}", fmt::join(keys, ","));
  for (const auto& [name, value] : attrs) text += fmt::format(" -{}={}", name, TextOf(value));
  return text;
}

std::vector<std::string> KnownTargetKinds() {
  std::vector<std::string> names;
  for (const KindRow& row : Kinds()) names.emplace_back(row.name);
  return names;
}

}  // namespace lathe
