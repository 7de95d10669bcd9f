#include "compiler/transform/target_attr.h"

namespace lathe {

std::string TargetKind(const AttrMap& attrs) {
  const auto target = attrs.find("target");
  const AttrMap* map = target == attrs.end() ? nullptr : std::get_if<AttrMap>(&target->second);
  if (map == nullptr || !map->contains("T.target")) return "";
  const Attr& written = map->at("T.target");
  if (const std::string* text = std::get_if<std::string>(&written))
    return text->starts_with("nvidia/") ? "cuda" : text->substr(0, text->find(' '));
  const AttrMap* options = std::get_if<AttrMap>(&written);
  const std::string* kind =
      options == nullptr || !options->contains("kind") ? nullptr : std::get_if<std::string>(&options->at("kind"));
  return kind == nullptr ? "" : *kind;
}

}  // namespace lathe
