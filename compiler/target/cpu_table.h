// What the names of CPUs and tags stand for. Only features that matter to code generation are listed.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/target/target.h"

namespace lathe {

struct CpuRow {
  std::string_view name;  // LLVM's -mcpu.
  Target::Arch arch;
  std::string_view base;        // The row whose features it has as well, or empty.
  std::string_view features;    // Further ones, separated by commas.
  std::string_view micro_arch;  // FindMicroArch.
};
// Some names are those of two architectures: one core in its 64-bit and its 32-bit state.
const CpuRow* FindCpu(std::string_view name, Target::Arch arch);
// The architecture of a CPU's name, the 64-bit one where it has two; nullopt: no CPU is called so.
std::optional<Target::Arch> ArchOfCpu(std::string_view name);
std::span<const CpuRow> CpuRows();
// All features of `cpu`, sorted.
std::vector<std::string> CpuFeatures(const CpuRow& cpu);
// The CPU that has just these kinds of features, as far as features tell; "": several, or none that is known.
std::string_view CpuOfFeatures(const std::vector<std::string>& features);

// A feature, the ones that it implies, and whether code may be generated with it.
struct FeatureRow {
  std::string_view name;
  Target::Arch arch;
  std::string_view implies;  // Separated by commas; direct ones.
};
const FeatureRow* FindFeature(std::string_view name, Target::Arch arch);
std::span<const FeatureRow> FeatureRows();
// A name that stands for the features that it implies, none of which it is: of a version, or of what no kernel uses.
const FeatureRow* FindFeatureSet(std::string_view name, Target::Arch arch);

struct TagRow {
  std::string_view tag, target;
};
std::span<const TagRow> TagRows();

std::vector<std::string> SplitAtCommas(std::string_view text);

}  // namespace lathe
