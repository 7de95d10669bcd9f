#include "compiler/transform/target_attr.h"

#include <algorithm>
#include <iterator>

#include "compiler/target/target.h"

namespace lathe {

const AttrMap* TargetOf(const AttrMap& attrs) {
  const auto target = attrs.find("target");
  const AttrMap* map = target == attrs.end() ? nullptr : std::get_if<AttrMap>(&target->second);
  return map != nullptr && map->contains("T.target") ? map : nullptr;
}

std::string KindOf(const AttrMap& target) {
  const auto found = target.find("T.target");
  if (found == target.end()) return "";
  if (const std::string* text = std::get_if<std::string>(&found->second)) {
    const StatusOr<TargetDescription> description = TargetDescription::Parse(*text);
    return description.ok() ? description->kind : text->substr(0, text->find(' '));
  }
  const AttrMap* options = std::get_if<AttrMap>(&found->second);
  const std::string* kind =
      options == nullptr || !options->contains("kind") ? nullptr : std::get_if<std::string>(&options->at("kind"));
  return kind == nullptr ? "" : *kind;
}

namespace {

std::optional<TargetAttr> AsTargetAttr(const Attr& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  if (const int64_t* number = std::get_if<int64_t>(&value)) return *number;
  if (const std::string* text = std::get_if<std::string>(&value)) return *text;
  const std::vector<Attr>* list = std::get_if<std::vector<Attr>>(&value);
  if (list == nullptr) return std::nullopt;
  std::vector<std::string> texts;
  for (const Attr& one : *list)
    if (const std::string* text = std::get_if<std::string>(&one)) texts.push_back(*text);
  return texts;
}

}  // namespace

StatusOr<std::optional<TargetDescription>> DescriptionOf(const AttrMap& attrs) {
  const AttrMap* target = TargetOf(attrs);
  if (target == nullptr) return std::optional<TargetDescription>();
  const Attr& written = target->at("T.target");
  StatusOr<TargetDescription> description = InvalidArgument("target: it is neither a text nor a map");
  if (const std::string* text = std::get_if<std::string>(&written)) {
    description = TargetDescription::Parse(*text);
  } else if (const AttrMap* options = std::get_if<AttrMap>(&written)) {
    TargetAttrs given;
    for (const auto& [key, value] : *options)
      if (const std::optional<TargetAttr> one = AsTargetAttr(value); one && key != "host") given.emplace(key, *one);
    description = TargetDescription::FromAttrs(std::move(given));
  }
  if (!description.ok()) return description.status();
  return std::optional(*std::move(description));
}

bool HasScalableVectors(const TargetDescription& target) {
  const auto text_of = [&](const char* name) -> std::string {
    const auto found = target.attrs.find(name);
    const std::string* text = found == target.attrs.end() ? nullptr : std::get_if<std::string>(&found->second);
    return text == nullptr ? "" : *text;
  };
  if (target.kind != "llvm" || !text_of("mtriple").starts_with("aarch64")) return false;
  const auto attrs = target.attrs.find("mattr");
  const auto* features = attrs == target.attrs.end() ? nullptr : std::get_if<std::vector<std::string>>(&attrs->second);
  const auto is_sve = [](const std::string& feature) { return feature == "+sve" || feature.starts_with("+sve2"); };
  if (features != nullptr && std::any_of(features->begin(), features->end(), is_sve)) return true;
  const StatusOr<Target> cpu = Target::Parse("llvm -mtriple=aarch64-linux-gnu -mcpu=" + text_of("mcpu"));
  return cpu.ok() && cpu->Has("sve");
}

std::optional<AttrMap> HostOf(const AttrMap& target) {
  const AttrMap* options = target.contains("T.target") ? std::get_if<AttrMap>(&target.at("T.target")) : nullptr;
  for (const AttrMap* map : {&target, options}) {
    if (map == nullptr || !map->contains("host")) continue;
    const Attr& host = map->at("host");
    const AttrMap* whole = std::get_if<AttrMap>(&host);
    return whole != nullptr && whole->contains("T.target") ? *whole : AttrMap{{"T.target", host}};
  }
  return std::nullopt;
}

AttrMap WithoutHost(AttrMap target) {
  target.erase("host");
  if (AttrMap* options = std::get_if<AttrMap>(&target["T.target"])) options->erase("host");
  return target;
}

int DeviceTypeOf(const std::string& kind) {
  static constexpr std::pair<std::string_view, int> kTypes[] = {
      {"llvm", 1}, {"c", 1},      {"hybrid", 1}, {"stackvm", 1}, {"cuda", 2},     {"nvptx", 2},    {"opencl", 4},
      {"aocl", 5}, {"vulkan", 7}, {"metal", 8},  {"rocm", 10},   {"ext_dev", 12}, {"hexagon", 14}, {"webgpu", 15}};
  const auto found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& row) { return row.first == kind; });
  return found == std::end(kTypes) ? 0 : found->second;
}

std::string TargetKind(const AttrMap& attrs) {
  const AttrMap* target = TargetOf(attrs);
  return target == nullptr ? "" : KindOf(*target);
}

}  // namespace lathe
