// Hand-written schedules with named knobs, as AutoTVM has them, as a generator of traces.
#pragma once

#include <memory>
#include <span>

#include "tuner/space/contraction_axes.h"
#include "tuner/space/space_generator.h"

namespace lathe {

// A function that AutoInline has treated, and the block in it that a template schedules.
struct TemplateTask {
  BlockRV block;
  std::string name;  // Of that block.
  ContractionAxes contraction;
};

struct ScheduleTemplate {
  const char* name;
  bool (*matches)(const Schedule& schedule, const TemplateTask& task, const Target& target);
  Status (*apply)(Schedule& schedule, const TemplateTask& task, const Target& target);
};
// In the order in which they are tried; each that matches is a sketch of its own.
std::span<const ScheduleTemplate> ScheduleTemplates();

// NotFound "no template for ...", naming those that there are, where none matches.
std::unique_ptr<SpaceGenerator> MakeTemplates();

}  // namespace lathe
