#include "tuner/space/spaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "support/status_macros.h"
#include "tuner/space/sketch_rules.h"
#include "tuner/space/templates.h"

namespace lathe {
namespace {

constexpr SpaceRow kSpaces[] = {
    {"rules", "MetaSchedule's post-order-apply with the rules of the kind of target",
     [] { return MakePostOrderApply(); }},
    {"sketches", "Ansor's derivation rules", MakeSketchRules},
    {"templates", "hand-written schedules with knobs", MakeTemplates},
};

std::string NamesOfSpaces() {
  std::vector<std::string> names;
  for (const SpaceRow& row : kSpaces) names.push_back(fmt::format("\"{}\"", row.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

// By position in kSpaces: whether the list names it.
StatusOr<std::vector<bool>> Chosen(std::string_view space) {
  std::vector<bool> chosen(std::size(kSpaces), false);
  for (std::string_view rest = space.empty() ? kDefaultSpace : space;;) {
    const size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    const auto row =
        std::find_if(std::begin(kSpaces), std::end(kSpaces), [&](const SpaceRow& each) { return each.name == name; });
    if (row == std::end(kSpaces)) {
      return InvalidArgument(fmt::format("space \"{}\": no such space; there are {}, or a list of them with commas",
                                         name, NamesOfSpaces()));
    }
    chosen[static_cast<size_t>(row - std::begin(kSpaces))] = true;
    if (comma == std::string_view::npos) return chosen;
    rest.remove_prefix(comma + 1);
  }
}

class Union : public SpaceGenerator {
 public:
  explicit Union(std::vector<std::unique_ptr<SpaceGenerator>> spaces) : spaces_(std::move(spaces)) {}

  StatusOr<std::vector<Sketch>> Generate(const PrimFunc& workload, const Target& target) const override {
    std::vector<Sketch> sketches;
    std::vector<std::string> reasons, known;
    Status why;
    for (const auto& space : spaces_) {
      StatusOr<std::vector<Sketch>> some = space->Generate(workload, target);
      if (!some.ok()) {
        why = some.status();
        reasons.push_back(why.message());
        continue;
      }
      for (Sketch& sketch : *some) {
        std::string text = sketch.trace.ToJson();
        if (std::find(known.begin(), known.end(), text) != known.end()) continue;
        known.push_back(std::move(text));
        sketches.push_back(std::move(sketch));
      }
    }
    if (!sketches.empty()) return sketches;
    return Status(why.code(), fmt::format("{}", fmt::join(reasons, "; ")));
  }

 private:
  const std::vector<std::unique_ptr<SpaceGenerator>> spaces_;
};

}  // namespace

std::span<const SpaceRow> Spaces() { return kSpaces; }

StatusOr<std::string> CanonicalSpace(std::string_view space) {
  ASSIGN_OR_RETURN(const std::vector<bool> chosen, Chosen(space));
  std::string text;
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) text += (text.empty() ? "" : ",") + std::string(kSpaces[i].name);
  return text;
}

StatusOr<std::unique_ptr<SpaceGenerator>> MakeSpace(std::string_view space) {
  ASSIGN_OR_RETURN(const std::vector<bool> chosen, Chosen(space));
  std::vector<std::unique_ptr<SpaceGenerator>> spaces;
  for (size_t i = 0; i < chosen.size(); ++i)
    if (chosen[i]) spaces.push_back(kSpaces[i].make());
  if (spaces.size() == 1) return std::move(spaces.front());
  return std::unique_ptr<SpaceGenerator>(std::make_unique<Union>(std::move(spaces)));
}

}  // namespace lathe
