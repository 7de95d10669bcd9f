#include "compiler/target/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

#include "compiler/target/cpu_table.h"
#include "compiler/target/micro_arch.h"
#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr int kMaxCores = 4096;

Status TargetError(std::string_view text, std::string_view what) {
  return InvalidArgument(fmt::format("target \"{}\": {}", text.substr(0, 200), what));
}

std::vector<std::string> SplitAtSpaces(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      if (!word.empty()) words.push_back(std::exchange(word, {}));
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

bool Contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// An architecture as triples name it, the one triple that it has here, what is meant where no CPU is named, and a
// feature for messages.
struct ArchRow {
  Target::Arch arch;
  std::string_view names;  // Separated by commas; the first also starts `triple`.
  std::string_view triple, default_cpu, example_attr;
};
constexpr ArchRow kArchs[] = {
    {Target::Arch::kX86_64, "x86_64", "x86_64-linux-gnu", "x86-64", "+avx512vnni"},
    {Target::Arch::kAArch64, "aarch64,arm64", "aarch64-linux-gnu", "generic", "+dotprod"},
    {Target::Arch::kArm, "armv7,armv7a,armv7l,armv8l", "armv7-linux-gnueabihf", "generic", "+vfp4"},
};

const ArchRow& RowOf(Target::Arch arch) {
  return *std::find_if(std::begin(kArchs), std::end(kArchs), [&](const ArchRow& row) { return row.arch == arch; });
}
const ArchRow* FindArch(std::string_view name) {
  for (const ArchRow& row : kArchs) {
    const std::vector<std::string> names = SplitAtCommas(row.names);
    if (std::find(names.begin(), names.end(), name) != names.end()) return &row;
  }
  return nullptr;
}

// The strongest generic CPU all of whose features `features` has.
std::string_view StrongestBase(Target::Arch arch, const std::vector<std::string>& features) {
  if (arch != Target::Arch::kX86_64) return "generic";
  for (const char* level : {"x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
    const std::vector<std::string> needed = CpuFeatures(*FindCpu(level, arch));
    if (std::all_of(needed.begin(), needed.end(), [&](const std::string& name) { return Contains(features, name); }))
      return level;
  }
  return "x86-64";
}

bool Implies(const FeatureRow& row, std::string_view wanted) {
  if (row.name == wanted) return true;
  for (const std::string& name : SplitAtCommas(row.implies)) {
    if (const FeatureRow* implied = FindFeature(name, row.arch); implied != nullptr && Implies(*implied, wanted))
      return true;
  }
  return false;
}

void AddWithImplied(const FeatureRow& row, std::vector<std::string>& features) {
  for (const FeatureRow& other : FeatureRows()) {
    if (other.arch == row.arch && Implies(row, other.name) && !Contains(features, other.name))
      features.emplace_back(other.name);
  }
}

// Without `row` nothing that implies it can stay.
void RemoveWithDependents(const FeatureRow& row, std::vector<std::string>& features) {
  std::erase_if(features, [&](const std::string& name) { return Implies(*FindFeature(name, row.arch), row.name); });
}

// Levenshtein's.
size_t Distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Those most like `name`.
std::vector<std::string_view> Nearest(std::string_view name, std::vector<std::string_view> known, size_t count) {
  std::stable_sort(known.begin(), known.end(),
                   [&](std::string_view a, std::string_view b) { return Distance(name, a) < Distance(name, b); });
  known.resize(std::min(count, known.size()));
  return known;
}

}  // namespace

// Collects the options of one text, then resolves them against each other and the host.
class TargetParser {
 public:
  TargetParser(std::string_view text, const HostFacts& host) : text_(text), host_(host) {}

  StatusOr<Target> Run() {
    std::vector<std::string> words = SplitAtSpaces(text_);
    if (words.empty())
      return Error("empty; write \"auto\", \"llvm -mcpu=...\" or a tag such as \"raspberry-pi/4b-aarch64\"");
    RETURN_IF_ERROR(ReadKind(words[0]));
    for (size_t i = 1; i < words.size(); ++i) RETURN_IF_ERROR(ReadOption(words[i]));
    return Resolve();
  }

 private:
  Status Error(std::string_view what) const { return TargetError(text_, what); }

  Status ReadKind(const std::string& kind) {
    if (kind == "llvm") return OkStatus();
    if (kind == "auto") {
      is_auto_ = is_host_ = true;
      return OkStatus();
    }
    for (const TagRow& tag : TagRows()) {
      if (tag.tag != kind) continue;
      const std::vector<std::string> words = SplitAtSpaces(tag.target);
      for (size_t i = 1; i < words.size(); ++i) RETURN_IF_ERROR(ReadOption(words[i]));
      return OkStatus();
    }
    if (kind == "cuda" || kind == "opencl" || kind == "c" || kind == "rocm" || kind == "vulkan" || kind == "metal") {
      return Status(StatusCode::kUnimplemented,
                    fmt::format("target \"{}\": this build generates code for CPUs only; use \"llvm\" or \"auto\"",
                                text_.substr(0, 200)));
    }
    return Error(fmt::format("unknown kind or tag \"{}\"; known: auto, llvm, {}", kind.substr(0, 80),
                             fmt::join(KnownTargetTags(), ", ")));
  }

  Status ReadOption(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (value.empty())
      return Error(fmt::format("option \"{}\" has no value; write {}=VALUE", word.substr(0, 80), name.substr(0, 80)));
    if (name == "-mtriple")
      triple_ = value;
    else if (name == "-mcpu")
      cpu_ = value;
    else if (name == "-mattr")
      attrs_ = value;
    else if (name == "-num-cores")
      return ReadCores(value);
    else if (name == "-keys" || name == "-device" || name == "-model")
      return OkStatus();  // TVM's labels; they change no code.
    else
      return Error(
          fmt::format("unknown option \"{}\"; known: -mattr, -mcpu, -mtriple, -num-cores", name.substr(0, 80)));
    return OkStatus();
  }

  Status ReadCores(const std::string& value) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), cores_);
    if (error != std::errc() || end != value.data() + value.size() || cores_ < 1 || cores_ > kMaxCores) {
      return Error(fmt::format("-num-cores={} is not a number from 1 to {}", value.substr(0, 40), kMaxCores));
    }
    return OkStatus();
  }

  Status ResolveArch(Target& target) {
    is_host_ |= cpu_ == "native";
    if (triple_.empty()) {
      const std::optional<Target::Arch> cpu_arch = cpu_ == "generic" ? std::nullopt : ArchOfCpu(cpu_);
      triple_ = cpu_arch ? std::string(RowOf(*cpu_arch).triple) : host_.triple;
    }
    const std::string arch = triple_.substr(0, triple_.find('-'));
    const ArchRow* row = FindArch(arch);
    if (row == nullptr) {
      return Error(fmt::format("-mtriple={}: architecture \"{}\" is not one of x86_64, aarch64, armv7",
                               triple_.substr(0, 80), arch.substr(0, 40)));
    }
    if (triple_.find("linux") == std::string::npos)
      return Error(
          fmt::format("-mtriple={}: artifacts are ELF for Linux; write {}", triple_.substr(0, 80), row->triple));
    target.arch_ = row->arch;
    target.triple_ = row->triple;
    return OkStatus();
  }

  void TakeHost(Target& target) const {
    target.cpu_ = StrongestBase(target.arch_, host_.features);
    target.features_ = host_.features;
    // LLVM uses what a feature implies, so a hypervisor that hides the one hides the other, too.
    for (const FeatureRow& row : FeatureRows()) {
      if (row.arch == target.arch_ && !Contains(host_.features, row.name)) RemoveWithDependents(row, target.features_);
    }
  }

  // The names most like what was asked for.
  std::string NearCpus(Target::Arch arch) const {
    std::vector<std::string_view> known;
    for (const CpuRow& row : CpuRows())
      if (row.arch == arch) known.push_back(row.name);
    return fmt::format("{}", fmt::join(Nearest(std::string_view(cpu_).substr(0, 40), std::move(known), 5), ", "));
  }

  Status ResolveCpu(Target& target) {
    if (is_host_) return TakeHost(target), OkStatus();
    if (cpu_.empty() || (cpu_ == "generic" && target.arch_ == Target::Arch::kX86_64))
      cpu_ = RowOf(target.arch_).default_cpu;
    const CpuRow* cpu = FindCpu(cpu_, target.arch_);
    if (cpu == nullptr) {
      return Error(fmt::format("-mcpu={} is not a known CPU of {}; near: {}", cpu_.substr(0, 40), target.triple_,
                               NearCpus(target.arch_)));
    }
    target.cpu_ = cpu_;
    target.features_ = CpuFeatures(*cpu);
    return OkStatus();
  }

  Status ApplyAttrs(Target& target) {
    for (const std::string& attr : SplitAtCommas(attrs_)) {
      const std::string_view name = std::string_view(attr).substr(1);
      if (const FeatureRow* set = FindFeatureSet(name, target.arch_);
          set != nullptr && (attr[0] == '+' || attr[0] == '-')) {
        if (attr[0] == '+') AddWithImplied(*set, target.features_);
        continue;
      }
      const FeatureRow* feature = FindFeature(name, target.arch_);
      if ((attr[0] != '+' && attr[0] != '-') || feature == nullptr) {
        return Error(fmt::format("-mattr={}: unknown feature of {}; write +name or -name with LLVM's name, such as {}",
                                 attr.substr(0, 40), target.triple_, RowOf(target.arch_).example_attr));
      }
      if (attr[0] == '+')
        AddWithImplied(*feature, target.features_);
      else
        RemoveWithDependents(*feature, target.features_);
    }
    std::sort(target.features_.begin(), target.features_.end());
    return OkStatus();
  }

  StatusOr<Target> Resolve() {
    Target target;
    RETURN_IF_ERROR(ResolveArch(target));
    if (is_auto_ && (!cpu_.empty() || !attrs_.empty()))
      return Error("\"auto\" asks the machine for its CPU; leave out -mcpu and -mattr, or write \"llvm\"");
    if (is_host_ && target.triple_ != host_.triple)
      return Error(fmt::format("{} is this machine, {}; leave out -mtriple", is_auto_ ? "\"auto\"" : "-mcpu=native",
                               host_.triple));
    RETURN_IF_ERROR(ResolveCpu(target));
    RETURN_IF_ERROR(ApplyAttrs(target));
    if (cores_ == 0) {
      if (target.triple_ != host_.triple)
        return Error(
            "runs on another machine, whose cores are not known here; add -num-cores=N, the threads that a kernel may "
            "use");
      cores_ = host_.num_cores;
    }
    target.num_cores_ = cores_;
    target.micro_arch_ = FindMicroArch(FindCpu(target.tuning_cpu(), target.arch_)->micro_arch);
    WriteAttrs(target);
    target.text_ = fmt::format("llvm -mcpu={}{}{} -mtriple={} -num-cores={}", target.cpu_,
                               target.attrs_.empty() ? "" : " -mattr=", fmt::join(target.attrs_, ","), target.triple_,
                               target.num_cores_);
    return target;
  }

  // The difference between what the CPU has and what is wanted: the shortest list does not matter, only that it is
  // always the same.
  static void WriteAttrs(Target& target) {
    const std::vector<std::string> implied = CpuFeatures(*FindCpu(target.cpu_, target.arch_));
    for (const std::string& name : target.features_) {
      if (!Contains(implied, name)) target.attrs_.push_back("+" + name);
    }
    for (const std::string& name : implied) {
      if (!Contains(target.features_, name)) target.attrs_.push_back("-" + name);
    }
    std::sort(target.attrs_.begin(), target.attrs_.end());
  }

  const std::string_view text_;
  const HostFacts& host_;
  bool is_auto_ = false, is_host_ = false;
  std::string triple_, cpu_, attrs_;
  int cores_ = 0;
};

std::string TripleOfMachine(std::string_view machine) {
  const ArchRow* row = FindArch(machine);
  return row == nullptr ? std::string(machine) + "-linux-gnu" : std::string(row->triple);
}

StatusOr<Target> Target::Parse(std::string_view text, const HostFacts& host) { return TargetParser(text, host).Run(); }
StatusOr<Target> Target::Parse(std::string_view text) { return Parse(text, DetectHost()); }

bool Target::Has(std::string_view feature) const { return Contains(features_, feature); }

std::string_view Target::tuning_cpu() const {
  const bool is_level = (cpu_ == "generic" && arch_ == Arch::kAArch64) || cpu_.starts_with("x86-64");
  const std::string_view known = is_level ? CpuOfFeatures(features_) : "";
  return known.empty() ? std::string_view(cpu_) : known;
}

RegisterFile Target::register_file() const {
  RegisterFile registers;
  if (arch_ == Arch::kAArch64)
    registers = {.vector_bits = 128, .num_vector_registers = 32, .has_fma = true};
  else if (arch_ == Arch::kArm)
    registers = {.vector_bits = 128, .num_vector_registers = 16, .has_fma = Has("vfp4")};
  else if (Has("avx512f"))
    registers = {.vector_bits = 512, .num_vector_registers = 32, .num_mask_registers = 8, .has_fma = true};
  else
    registers = {.vector_bits = Has("avx") ? 256 : 128, .num_vector_registers = 16, .has_fma = Has("fma")};
  registers.fma_per_cycle = std::max(1, static_cast<int>(micro_arch_->fma.per_cycle(registers.vector_bits)));
  return registers;
}

CacheSizes Target::cache_sizes() const { return micro_arch_->caches; }

std::vector<std::string> KnownTargetTags() {
  std::vector<std::string> tags;
  for (const TagRow& row : TagRows()) tags.emplace_back(row.tag);
  return tags;
}

}  // namespace lathe
