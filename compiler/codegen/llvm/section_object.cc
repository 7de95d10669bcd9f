#include "compiler/codegen/llvm/section_object.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <limits>

#include "support/status_macros.h"

namespace lathe {
namespace {

constexpr size_t kAlignment = 64;

void PadTo(std::string& bytes, size_t alignment) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}

template <typename T>
std::string_view AsBytes(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

Status CheckSectionName(const std::string& name) {
  if (name.size() >= 2 && name.size() <= 100 && name[0] == '.' && name.find('\0') == std::string::npos)
    return OkStatus();
  return InvalidArgument(
      fmt::format("codegen: section name \"{}\" is not '.' and up to 99 characters", name.substr(0, 100)));
}

struct Elf32 {
  using Header = Elf32_Ehdr;
  using Section = Elf32_Shdr;
  static constexpr unsigned char kClass = ELFCLASS32;
};
struct Elf64 {
  using Header = Elf64_Ehdr;
  using Section = Elf64_Shdr;
  static constexpr unsigned char kClass = ELFCLASS64;
};

template <typename Elf>
typename Elf::Header MakeHeader(uint16_t machine, uint32_t flags) {
  typename Elf::Header header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = Elf::kClass;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_flags = flags;
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(typename Elf::Section);
  return header;
}

template <typename Elf>
StatusOr<std::string> MakeObject(std::span<const ArtifactSection> sections, typename Elf::Header header) {
  using Section = typename Elf::Section;
  using Size = decltype(Section::sh_size);
  std::string names(1, '\0');
  std::vector<Section> rows(1);
  std::string file(sizeof(header), '\0');
  const auto add = [&](std::string_view name, uint32_t type, uint32_t flags, std::string_view bytes, size_t alignment) {
    PadTo(file, alignment);
    rows.push_back({.sh_name = static_cast<Elf64_Word>(names.size()),
                    .sh_type = type,
                    .sh_flags = flags,
                    .sh_offset = static_cast<Size>(file.size()),
                    .sh_size = static_cast<Size>(bytes.size()),
                    .sh_addralign = static_cast<Size>(alignment)});
    names.append(name).push_back('\0');
    file.append(bytes);
  };
  for (const ArtifactSection& section : sections) {
    RETURN_IF_ERROR(CheckSectionName(section.name));
    add(section.name, SHT_PROGBITS, SHF_ALLOC, section.bytes, kAlignment);
  }
  add(".shstrtab", SHT_STRTAB, 0, names + ".shstrtab" + '\0', 1);
  PadTo(file, alignof(Elf64_Shdr));
  if (file.size() > std::numeric_limits<Size>::max())
    return InvalidArgument(
        fmt::format("codegen: sections of {} bytes, more than a 32-bit machine can load", file.size()));
  header.e_shoff = static_cast<Size>(file.size());
  header.e_shnum = static_cast<Elf64_Half>(rows.size());
  header.e_shstrndx = static_cast<Elf64_Half>(rows.size() - 1);
  for (const Section& row : rows) file.append(AsBytes(row));
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

}  // namespace

StatusOr<std::string> MakeSectionObject(std::span<const ArtifactSection> sections, Target::Arch arch) {
  switch (arch) {
    case Target::Arch::kX86_64:
      return MakeObject<Elf64>(sections, MakeHeader<Elf64>(EM_X86_64, 0));
    case Target::Arch::kAArch64:
      return MakeObject<Elf64>(sections, MakeHeader<Elf64>(EM_AARCH64, 0));
    case Target::Arch::kArm:
      return MakeObject<Elf32>(sections, MakeHeader<Elf32>(EM_ARM, EF_ARM_EABI_VER5));
  }
  return InternalError("codegen: no object format for this architecture");
}

}  // namespace lathe
