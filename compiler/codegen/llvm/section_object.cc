#include "compiler/codegen/llvm/section_object.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>

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

Elf64_Ehdr MakeHeader(Target::Arch arch) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = arch == Target::Arch::kX86_64 ? EM_X86_64 : EM_AARCH64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  return header;
}

}  // namespace

StatusOr<std::string> MakeSectionObject(std::span<const ArtifactSection> sections, Target::Arch arch) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> rows(1);
  std::string file(sizeof(Elf64_Ehdr), '\0');
  for (const ArtifactSection& section : sections) {
    if (section.name.size() < 2 || section.name.size() > 100 || section.name[0] != '.' ||
        section.name.find('\0') != std::string::npos) {
      return InvalidArgument(
          fmt::format("codegen: section name \"{}\" is not '.' and up to 99 characters", section.name.substr(0, 100)));
    }
    PadTo(file, kAlignment);
    rows.push_back({.sh_name = static_cast<Elf64_Word>(names.size()),
                    .sh_type = SHT_PROGBITS,
                    .sh_flags = SHF_ALLOC,
                    .sh_offset = file.size(),
                    .sh_size = section.bytes.size(),
                    .sh_addralign = kAlignment});
    names.append(section.name).push_back('\0');
    file.append(section.bytes);
  }
  const size_t own_name = names.size();
  names.append(".shstrtab").push_back('\0');
  rows.push_back({.sh_name = static_cast<Elf64_Word>(own_name),
                  .sh_type = SHT_STRTAB,
                  .sh_offset = file.size(),
                  .sh_size = names.size(),
                  .sh_addralign = 1});
  file.append(names);
  PadTo(file, alignof(Elf64_Shdr));
  Elf64_Ehdr header = MakeHeader(arch);
  header.e_shoff = file.size();
  header.e_shnum = static_cast<Elf64_Half>(rows.size());
  header.e_shstrndx = static_cast<Elf64_Half>(rows.size() - 1);
  for (const Elf64_Shdr& row : rows) file.append(AsBytes(row));
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

}  // namespace lathe
