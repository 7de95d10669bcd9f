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

constexpr uint64_t kBase = 0x10000000, kPage = 4096, kLargestPage = 65536, kHeapBytes = 64 << 20;

// The pool behind the code: context, buffers, scalars, kernel, output begin and size, &heap_top.
// llvm-mc-19 -triple=aarch64-linux-gnu
constexpr uint32_t kAArch64Code[] = {
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
// arm-linux-gnueabihf-as
constexpr uint32_t kArmCode[] = {
    // _start: kernel(context, buffers, scalars), then write(1, output), then exit with what it returned.
    0xe59f00a0,  // ldr r0, pool
    0xe59f10a0,  // ldr r1, pool+4
    0xe59f20a0,  // ldr r2, pool+8
    0xe59f30a0,  // ldr r3, pool+12
    0xe12fff33,  // blx r3
    0xe1a08000,  // mov r8, r0
    0xe59f5098,  // ldr r5, pool+16
    0xe59f6098,  // ldr r6, pool+20
    0xe3560000,  // 1: cmp r6, #0
    0x0a000009,  // beq 2f
    0xe3a00001,  // mov r0, #1
    0xe1a01005,  // mov r1, r5
    0xe1a02006,  // mov r2, r6
    0xe3a07004,  // mov r7, #4
    0xef000000,  // svc #0
    0xe3500000,  // cmp r0, #0
    0xda000002,  // ble 2f
    0xe0855000,  // add r5, r5, r0
    0xe0466000,  // sub r6, r6, r0
    0xeafffff3,  // b 1b
    0xe1a00008,  // 2: mov r0, r8
    0xe3a07001,  // mov r7, #1
    0xef000000,  // svc #0
    // parallel_for(context, body, closure, extent): body(context, closure, 0, extent), the last on the stack already
    0xe1a0c001,  // mov r12, r1
    0xe1a01002,  // mov r1, r2
    0xe3a02000,  // mov r2, #0
    0xe3a03000,  // mov r3, #0
    0xe12fff1c,  // bx r12
    // alloc_workspace(context, bytes in r2): heap_top, raised by the bytes rounded up to 64
    0xe59f1048,  // ldr r1, pool+24
    0xe5910000,  // ldr r0, [r1]
    0xe282203f,  // add r2, r2, #63
    0xe3c2203f,  // bic r2, r2, #63
    0xe0802002,  // add r2, r0, r2
    0xe5812000,  // str r2, [r1]
    0xe12fff1e,  // bx lr
    // free_workspace(context, memory): heap_top = memory
    0xe59f202c,  // ldr r2, pool+24
    0xe5821000,  // str r1, [r2]
    0xe12fff1e,  // bx lr
    // fail(context, message): exit(99)
    0xe3a00063,  // mov r0, #99
    0xe3a07001,  // mov r7, #1
    0xef000000,  // svc #0
    0xe320f000,  // nop
};

struct Elf64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Section = Elf64_Shdr;
  using Symbol = Elf64_Sym;
  using Relocation = Elf64_Rela;
  using Word = uint64_t;
  static constexpr unsigned char kClass = ELFCLASS64;
  static constexpr uint32_t kRelocations = SHT_RELA;
};
struct Elf32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Section = Elf32_Shdr;
  using Symbol = Elf32_Sym;
  using Relocation = Elf32_Rel;  // What is added stands at its place.
  using Word = uint32_t;
  static constexpr unsigned char kClass = ELFCLASS32;
  static constexpr uint32_t kRelocations = SHT_REL;
};

struct Guest {
  const char* qemu;
  uint16_t machine;
  uint32_t relative;  // The one type of relocation that artifacts have.
  std::span<const uint32_t> code;
  uint64_t parallel_for, alloc, free, fail;  // Where they begin in the code.
};
constexpr Guest kAArch64Guest{"qemu-aarch64", EM_AARCH64, R_AARCH64_RELATIVE, kAArch64Code, 0x50, 0x60, 0x80, 0x8c};
constexpr Guest kArmGuest{"qemu-arm", EM_ARM, R_ARM_RELATIVE, kArmCode, 0x5c, 0x70, 0x8c, 0x98};

// Memory of the guest from kBase on.
template <typename Elf>
class Image {
  using Word = typename Elf::Word;

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
  uint64_t AppendWord(uint64_t value) { return Append(&value, sizeof(Word)); }  // Little-endian, on all machines here.
  void WriteWord(uint64_t at, uint64_t value) { std::memcpy(bytes_.data() + (at - kBase), &value, sizeof(Word)); }
  uint64_t ReadWord(uint64_t at) const {
    Word word;
    std::memcpy(&word, bytes_.data() + (at - kBase), sizeof(word));
    return word;
  }
  const std::string& bytes() const { return bytes_; }

  // Segments at their places, relative relocations done. CHECKs nothing: the artifact is our own.
  Status LoadArtifact(const std::string& artifact, const Guest& guest) {
    typename Elf::Header header;
    std::memcpy(&header, artifact.data(), sizeof(header));
    if (header.e_ident[EI_CLASS] != Elf::kClass || header.e_machine != guest.machine)
      return InvalidArgument("the artifact is for another machine than the guest");
    for (int i = 0; i < header.e_phnum; ++i) {
      typename Elf::Segment segment;
      std::memcpy(&segment, artifact.data() + header.e_phoff + static_cast<size_t>(i) * sizeof(segment),
                  sizeof(segment));
      if (segment.p_type != PT_LOAD) continue;
      if (segment.p_align != kLargestPage)
        return InternalError(fmt::format("a segment is aligned to {} bytes, boards have pages of {}",
                                         uint64_t{segment.p_align}, kLargestPage));
      if (bytes_.size() < segment.p_vaddr + segment.p_memsz) bytes_.resize(segment.p_vaddr + segment.p_memsz);
      std::memcpy(bytes_.data() + segment.p_vaddr, artifact.data() + segment.p_offset, segment.p_filesz);
    }
    using Relocation = typename Elf::Relocation;
    return ForEachEntry<Relocation>(artifact, header, Elf::kRelocations, [&](const Relocation& row, size_t) {
      const auto type = static_cast<uint32_t>(row.r_info & (sizeof(Word) == 8 ? 0xffffffff : 0xff));
      if (type != guest.relative) return InternalError(fmt::format("relocation of type {}", type));
      const uint64_t at = kBase + row.r_offset;
      if constexpr (Elf::kRelocations == SHT_RELA)
        WriteWord(at, kBase + static_cast<uint64_t>(row.r_addend));
      else
        WriteWord(at, kBase + ReadWord(at));
      return OkStatus();
    });
  }
  static StatusOr<uint64_t> FindSymbol(const std::string& artifact, const std::string& name) {
    typename Elf::Header header;
    std::memcpy(&header, artifact.data(), sizeof(header));
    uint64_t found = 0;
    using Symbol = typename Elf::Symbol;
    RETURN_IF_ERROR(ForEachEntry<Symbol>(artifact, header, SHT_DYNSYM, [&](const Symbol& symbol, size_t names) {
      if (name == artifact.data() + names + symbol.st_name) found = kBase + symbol.st_value;
      return OkStatus();
    }));
    if (found == 0) return NotFound("no symbol " + name);
    return found;
  }

 private:
  // Of every section of the type; `visit` also gets where the names of the linked string table stand in the file.
  template <typename Entry, typename Visit>
  static Status ForEachEntry(const std::string& artifact, const typename Elf::Header& header, uint32_t type,
                             const Visit& visit) {
    const auto section_at = [&](size_t number) {
      typename Elf::Section section;
      std::memcpy(&section, artifact.data() + header.e_shoff + number * sizeof(section), sizeof(section));
      return section;
    };
    for (size_t i = 0; i < header.e_shnum; ++i) {
      const auto section = section_at(i);
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

template <typename Elf>
std::string Executable(const Image<Elf>& image, const Guest& guest, uint64_t entry) {
  using Word = typename Elf::Word;
  typename Elf::Header header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = Elf::kClass;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = guest.machine;
  header.e_version = EV_CURRENT;
  header.e_flags = guest.machine == EM_ARM ? EF_ARM_EABI_VER5 : 0;
  header.e_entry = static_cast<Word>(entry);
  header.e_phoff = header.e_ehsize = sizeof(header);
  header.e_phentsize = sizeof(typename Elf::Segment);
  header.e_phnum = 1;
  const auto size = static_cast<Word>(image.bytes().size());
  typename Elf::Segment segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_W | PF_X;
  segment.p_offset = segment.p_align = kPage;
  segment.p_vaddr = segment.p_paddr = kBase;
  segment.p_filesz = size;
  segment.p_memsz = size + kHeapBytes;
  std::string file(kPage, '\0');
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), &segment, sizeof(segment));
  return file + image.bytes();
}

// What qemu calls the target's CPU; of 32 bits it has none after ARMv7 by name.
std::string CpuOfQemu(const Target& target) {
  return target.arch() == Target::Arch::kArm && target.Has("fp-armv8") ? "max" : target.cpu();
}

// What the program writes, if it exits with 0.
StatusOr<std::string> RunUnderQemu(const std::string& executable, const Target& target) {
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
  const std::string qemu = QemuFor(target), cpu = CpuOfQemu(target);
  const char* const argv[] = {qemu.c_str(), "-cpu", cpu.c_str(), path.c_str(), nullptr};
  pid_t pid = 0;
  int status = posix_spawn(&pid, qemu.c_str(), &actions, nullptr, const_cast<char**>(argv), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (status == 0) waitpid(pid, &status, 0);
  std::string text(static_cast<size_t>(lseek(out, 0, SEEK_END)), '\0');
  const bool is_read = pread(out, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  close(out);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || !is_read)
    return FailedPrecondition(fmt::format("{} ended with wait status {:#x}", qemu, status));
  return text;
}

template <typename Elf>
Status RunOn(const Guest& guest, const Target& target, const std::string& artifact, const std::string& symbol,
             std::span<std::vector<std::byte>> buffers) {
  Image<Elf> image;
  RETURN_IF_ERROR(image.LoadArtifact(artifact, guest));
  ASSIGN_OR_RETURN(const uint64_t kernel, Image<Elf>::FindSymbol(artifact, symbol));
  const uint64_t output = image.Align(kPage);
  std::vector<uint64_t> addresses;
  for (const std::vector<std::byte>& buffer : buffers) {
    addresses.push_back(image.Align(LATHE_BUFFER_ALIGNMENT));
    image.Append(buffer.data(), buffer.size());
  }
  const uint64_t output_bytes = image.end() - output;
  const uint64_t pointers = image.Align(kPage);
  for (const uint64_t address : addresses) image.AppendWord(address);
  const uint64_t heap_top = image.Align(8);
  image.Append64(0);
  static_assert(sizeof(LatheContext) == LATHE_CONTEXT_BYTES);
  const uint64_t code = image.Align(512), context = code + 512;
  image.Append(guest.code.data(), guest.code.size_bytes());
  for (const uint64_t word : {context, pointers, uint64_t{0}, kernel, output, output_bytes, heap_top})
    image.AppendWord(word);
  image.Align(512);
  // LatheContext: abi_version, num_threads; device_type, device_id; then pointers, the stream last.
  for (const uint64_t word :
       {uint64_t{LATHE_KERNEL_ABI_VERSION} | uint64_t{1} << 32, uint64_t{1}, uint64_t{0}, code + guest.parallel_for,
        code + guest.alloc, code + guest.free, uint64_t{0}, code + guest.fail, uint64_t{0}}) {
    image.Append64(word);
  }
  image.Align(kPage);
  image.WriteWord(heap_top, image.end());
  ASSIGN_OR_RETURN(const std::string written, RunUnderQemu(Executable(image, guest, code), target));
  if (written.size() != output_bytes)
    return DataLoss(fmt::format("{} wrote {} bytes of {}", guest.qemu, written.size(), output_bytes));
  for (size_t i = 0; i < buffers.size(); ++i)
    std::memcpy(buffers[i].data(), written.data() + (addresses[i] - output), buffers[i].size());
  return OkStatus();
}

}  // namespace

std::string QemuFor(const Target& target) {
  if (target.arch() == Target::Arch::kX86_64) return "";
  const std::string path =
      std::string("/usr/bin/") + (target.arch() == Target::Arch::kArm ? kArmGuest : kAArch64Guest).qemu;
  for (const std::string& each : {path + "-static", path}) {
    if (access(each.c_str(), X_OK) == 0) return each;
  }
  return "";
}

Status RunGuestKernel(const Target& target, const std::string& artifact, const std::string& symbol,
                      std::span<std::vector<std::byte>> buffers) {
  return target.arch() == Target::Arch::kArm ? RunOn<Elf32>(kArmGuest, target, artifact, symbol, buffers)
                                             : RunOn<Elf64>(kAArch64Guest, target, artifact, symbol, buffers);
}

}  // namespace lathe
