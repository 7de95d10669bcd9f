#include "tests/e2e/guest_kernel.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "runtime/kernel_abi.h"
#include "support/status_macros.h"
#include "tests/support/temporary_folder.h"

extern char** environ;

namespace lathe {
namespace {

constexpr uint64_t kBase = 0x10000000, kPage = 4096, kHeapBytes = 64 << 20;

// llvm-mc-19 -triple=aarch64-linux-gnu. The pool behind it: context, buffers, scalars, kernel, output begin and size,
// &heap_top.
constexpr uint32_t kCode[] = {
    // _start: kernel(context, buffers, scalars), then write(1, output), then exit with what it returned.
    0x580004e0,  // ldr x0, pool
    0x58000501,  // ldr x1, pool+8
    0x58000522,  // ldr x2, pool+16
    0x58000543,  // ldr x3, pool+24
    0xd63f0060,  // blr x3
    0x2a0003f3,  // mov w19, w0
    0x58000521,  // ldr x1, pool+32
    0x58000542,  // ldr x2, pool+40
    0xb4000122,  // 1: cbz x2, 2f
    0xd2800020,  // mov x0, #1
    0xd2800808,  // mov x8, #64
    0xd4000001,  // svc #0
    0xf100001f,  // cmp x0, #0
    0x5400008d,  // b.le 2f
    0x8b000021,  // add x1, x1, x0
    0xcb000042,  // sub x2, x2, x0
    0x17fffff8,  // b 1b
    0x2a1303e0,  // 2: mov w0, w19
    0xd2800ba8,  // mov x8, #93
    0xd4000001,  // svc #0
    // parallel_for(context, body, closure, extent): body(context, closure, 0, extent)
    0xaa0103e5,  // mov x5, x1
    0xaa0203e1,  // mov x1, x2
    0xaa1f03e2,  // mov x2, xzr
    0xd61f00a0,  // br x5
    // alloc_workspace(context, bytes): heap_top, raised by the bytes rounded up to 64
    0x58000362,  // ldr x2, pool+48
    0xf9400043,  // ldr x3, [x2]
    0x9100fc21,  // add x1, x1, #63
    0x927ae421,  // and x1, x1, #~63
    0x8b010061,  // add x1, x3, x1
    0xf9000041,  // str x1, [x2]
    0xaa0303e0,  // mov x0, x3
    0xd65f03c0,  // ret
    // free_workspace(context, memory): heap_top = memory
    0x58000262,  // ldr x2, pool+48
    0xf9000041,  // str x1, [x2]
    0xd65f03c0,  // ret
    // fail(context, message): exit(99)
    0xd2800c60,  // mov x0, #99
    0xd2800ba8,  // mov x8, #93
    0xd4000001,  // svc #0
    0xd503201f,  // nop
};
constexpr uint64_t kParallelFor = 0x50, kAlloc = 0x60, kFree = 0x80, kFail = 0x8c;

// Memory of the guest from kBase on.
class Image {
 public:
  uint64_t end() const { return kBase + bytes_.size(); }
  uint64_t Align(uint64_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
    return end();
  }
  uint64_t Append(const void* data, size_t size) {
    const uint64_t at = end();
    const auto* from = static_cast<const char*>(data);
    bytes_.append(from, size);
    return at;
  }
  uint64_t Append64(uint64_t value) { return Append(&value, sizeof(value)); }
  void Write64(uint64_t at, uint64_t value) { std::memcpy(bytes_.data() + (at - kBase), &value, sizeof(value)); }
  const std::string& bytes() const { return bytes_; }

  // Segments at their places, relative relocations done. CHECKs nothing: the artifact is our own.
  Status LoadArtifact(const std::string& artifact) {
    Elf64_Ehdr header;
    std::memcpy(&header, artifact.data(), sizeof(header));
    if (header.e_machine != EM_AARCH64) return InvalidArgument("the artifact is not for AArch64");
    for (int i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      std::memcpy(&segment, artifact.data() + header.e_phoff + static_cast<size_t>(i) * sizeof(segment),
                  sizeof(segment));
      if (segment.p_type != PT_LOAD) continue;
      if (bytes_.size() < segment.p_vaddr + segment.p_memsz) bytes_.resize(segment.p_vaddr + segment.p_memsz);
      std::memcpy(bytes_.data() + segment.p_vaddr, artifact.data() + segment.p_offset, segment.p_filesz);
    }
    return ForEachEntry<Elf64_Rela>(artifact, header, SHT_RELA, [&](const Elf64_Rela& rela, size_t) {
      if (ELF64_R_TYPE(rela.r_info) != R_AARCH64_RELATIVE)
        return InternalError(fmt::format("relocation of type {}", ELF64_R_TYPE(rela.r_info)));
      Write64(kBase + rela.r_offset, kBase + static_cast<uint64_t>(rela.r_addend));
      return OkStatus();
    });
  }
  static StatusOr<uint64_t> FindSymbol(const std::string& artifact, const std::string& name) {
    Elf64_Ehdr header;
    std::memcpy(&header, artifact.data(), sizeof(header));
    uint64_t found = 0;
    RETURN_IF_ERROR(ForEachEntry<Elf64_Sym>(artifact, header, SHT_DYNSYM, [&](const Elf64_Sym& symbol, size_t names) {
      if (name == artifact.data() + names + symbol.st_name) found = kBase + symbol.st_value;
      return OkStatus();
    }));
    if (found == 0) return NotFound("no symbol " + name);
    return found;
  }

 private:
  // Of every section of the type; `visit` also gets where the names of the linked string table stand in the file.
  template <typename Entry, typename Visit>
  static Status ForEachEntry(const std::string& artifact, const Elf64_Ehdr& header, uint32_t type, const Visit& visit) {
    const auto section_at = [&](size_t number) {
      Elf64_Shdr section;
      std::memcpy(&section, artifact.data() + header.e_shoff + number * sizeof(section), sizeof(section));
      return section;
    };
    for (size_t i = 0; i < header.e_shnum; ++i) {
      const Elf64_Shdr section = section_at(i);
      if (section.sh_type != type) continue;
      for (size_t k = 0; k < section.sh_size / sizeof(Entry); ++k) {
        Entry entry;
        std::memcpy(&entry, artifact.data() + section.sh_offset + k * sizeof(entry), sizeof(entry));
        RETURN_IF_ERROR(visit(entry, section_at(section.sh_link).sh_offset));
      }
    }
    return OkStatus();
  }
  std::string bytes_;
};

std::string Executable(const Image& image, uint64_t entry) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_AARCH64;
  header.e_version = EV_CURRENT;
  header.e_entry = entry;
  header.e_phoff = header.e_ehsize = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{.p_type = PT_LOAD,
                     .p_flags = PF_R | PF_W | PF_X,
                     .p_offset = kPage,
                     .p_vaddr = kBase,
                     .p_paddr = kBase,
                     .p_filesz = image.bytes().size(),
                     .p_memsz = image.bytes().size() + kHeapBytes,
                     .p_align = kPage};
  std::string file(kPage, '\0');
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), &segment, sizeof(segment));
  return file + image.bytes();
}

// What the program writes, if it exits with 0.
StatusOr<std::string> RunUnderQemu(const std::string& executable) {
  const TemporaryFolder folder;
  const std::string path = folder / "guest";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
  const bool is_written = write(file, executable.data(), executable.size()) == static_cast<ssize_t>(executable.size());
  close(file);
  if (!is_written) return Unavailable("write " + path);
  const int out = memfd_create("stdout", MFD_CLOEXEC);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  const std::string qemu = QemuAArch64();
  const char* const argv[] = {qemu.c_str(), "-cpu", "cortex-a72", path.c_str(), nullptr};
  pid_t pid = 0;
  int status = posix_spawn(&pid, qemu.c_str(), &actions, nullptr, const_cast<char**>(argv), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (status == 0) waitpid(pid, &status, 0);
  std::string text(static_cast<size_t>(lseek(out, 0, SEEK_END)), '\0');
  const bool is_read = pread(out, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  close(out);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !is_read)
    return FailedPrecondition(fmt::format("qemu-aarch64 ended with wait status {:#x}", status));
  return text;
}

}  // namespace

std::string QemuAArch64() {
  for (const char* path : {"/usr/bin/qemu-aarch64-static", "/usr/bin/qemu-aarch64"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return "";
}

Status RunGuestKernel(const std::string& artifact, const std::string& symbol,
                      std::span<std::vector<std::byte>> buffers) {
  Image image;
  RETURN_IF_ERROR(image.LoadArtifact(artifact));
  ASSIGN_OR_RETURN(const uint64_t kernel, Image::FindSymbol(artifact, symbol));
  const uint64_t output = image.Align(kPage);
  std::vector<uint64_t> addresses;
  for (const std::vector<std::byte>& buffer : buffers) {
    addresses.push_back(image.Align(LATHE_BUFFER_ALIGNMENT));
    image.Append(buffer.data(), buffer.size());
  }
  const uint64_t output_bytes = image.end() - output;
  image.Align(kPage);
  const uint64_t pointers = image.Append(addresses.data(), addresses.size() * sizeof(uint64_t)),
                 heap_top = image.Append64(0);
  image.Align(LATHE_BUFFER_ALIGNMENT);
  static_assert(sizeof(kCode) % 4 == 0 && sizeof(LatheContext) == LATHE_CONTEXT_BYTES);
  const uint64_t code = image.Align(512), context = code + 512;
  image.Append(kCode, sizeof(kCode));
  for (const uint64_t word : {context, pointers, uint64_t{0}, kernel, output, output_bytes, heap_top})
    image.Append64(word);
  image.Align(512);
  // LatheContext: abi_version, num_threads; device_type, device_id; then pointers, the stream last.
  for (const uint64_t word :
       {uint64_t{LATHE_KERNEL_ABI_VERSION} | uint64_t{1} << 32, uint64_t{1}, uint64_t{0}, code + kParallelFor,
        code + kAlloc, code + kFree, uint64_t{0}, code + kFail, uint64_t{0}}) {
    image.Append64(word);
  }
  image.Align(kPage);
  image.Write64(heap_top, image.end());
  ASSIGN_OR_RETURN(const std::string written, RunUnderQemu(Executable(image, code)));
  if (written.size() != output_bytes)
    return DataLoss(fmt::format("qemu-aarch64 wrote {} bytes of {}", written.size(), output_bytes));
  for (size_t i = 0; i < buffers.size(); ++i)
    std::memcpy(buffers[i].data(), written.data() + (addresses[i] - output), buffers[i].size());
  return OkStatus();
}

}  // namespace lathe
