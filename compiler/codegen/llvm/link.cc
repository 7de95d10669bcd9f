#include "compiler/codegen/llvm/link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "lld/Common/Driver.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/raw_ostream.h"
#include "support/file.h"
#include "support/status_macros.h"

LLD_HAS_DRIVER(elf)

namespace lathe {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Status SystemError(std::string_view what) {
  const int error = errno;
  const std::string message = fmt::format("link: {}: {}", what, std::strerror(error));
  return MeansFullDisk(error) || error == ENOMEM ? ResourceExhausted(message) : InternalError(message);
}

StatusOr<FileDescriptor> WriteMemoryFile(std::string_view bytes) {
  FileDescriptor file(memfd_create("lathe-object", MFD_CLOEXEC));
  if (file.get() < 0) return SystemError("create a memory file");
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return SystemError("write a memory file");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return file;
}

// A file that is kept in memory: a thread empties the pipe that lld writes to. (lld maps a regular file, and dies where
// the disk is full.)
class MemoryOutput {
 public:
  MemoryOutput() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    read_end_.emplace(ends[0]);
    write_end_.emplace(ends[1]);
    reader_ = std::thread([this] { ReadAll(); });
  }
  ~MemoryOutput() { Take(); }
  bool ok() const { return write_end_.has_value(); }
  std::string path() const { return fmt::format("/proc/self/fd/{}", write_end_->get()); }
  // What was written.
  std::string Take() {
    write_end_.reset();
    if (reader_.joinable()) reader_.join();
    return std::move(bytes_);
  }

 private:
  void ReadAll() {
    char piece[1 << 16];
    ssize_t got = 0;
    while ((got = read(read_end_->get(), piece, sizeof(piece))) > 0 || (got < 0 && errno == EINTR))
      if (got > 0) bytes_.append(piece, static_cast<size_t>(got));
  }

  std::optional<FileDescriptor> read_end_, write_end_;
  std::string bytes_;  // The reader's, until it is joined.
  std::thread reader_;
};

std::string OneLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.substr(0, 600);
}

}  // namespace

namespace {

const char* LinkerMode(Target::Arch arch) {
  switch (arch) {
    case Target::Arch::kX86_64:
      return "elf_x86_64";
    case Target::Arch::kAArch64:
      return "aarch64linux";
    case Target::Arch::kArm:
      return "armelf_linux_eabi";
  }
  return "";
}

}  // namespace

StatusOr<std::string> LinkSharedObject(std::span<const std::string_view> objects, const Target& target) {
  std::vector<FileDescriptor> files;
  std::vector<std::string> args = {"ld.lld",
                                   "-shared",
                                   "-m",
                                   LinkerMode(target.arch()),
                                   "--threads=1",
                                   "-z",
                                   "defs",
                                   "-z",
                                   "noexecstack",
                                   "-z",
                                   "relro",
                                   "-Bsymbolic",
                                   "--build-id=none",
                                   "--hash-style=gnu",
                                   "--strip-all",
                                   "--no-dynamic-linker"};
  // Boards have pages of 4, 16 or 64 KiB. For AArch64 lld knows; a 32-bit system may run on a 64-bit kernel.
  if (target.arch() == Target::Arch::kArm) args.insert(args.end(), {"-z", "max-page-size=65536"});
  for (const std::string_view object : objects) {
    ASSIGN_OR_RETURN(FileDescriptor file, WriteMemoryFile(object));
    args.push_back(fmt::format("/proc/self/fd/{}", file.get()));
    files.push_back(std::move(file));
  }
  MemoryOutput linked;
  if (!linked.ok()) return SystemError("create a pipe");
  args.insert(args.end(), {"-o", linked.path()});
  std::vector<const char*> raw_args;
  for (const std::string& arg : args) raw_args.push_back(arg.c_str());
  std::string output, errors;
  llvm::raw_string_ostream output_stream(output), error_stream(errors);
  const lld::Result result = lld::lldMain(raw_args, output_stream, error_stream, {{lld::Gnu, &lld::elf::link}});
  if (!result.canRunAgain)
    return InternalError(fmt::format("link: lld cannot go on in this process: {}", OneLine(errors)));
  if (result.retCode != 0) return InternalError(fmt::format("link: {}", OneLine(errors)));
  return linked.Take();
}

namespace {

template <typename ElfType>
Status CheckSelfContainedElf(std::string_view shared_object) {
  using ElfFile = llvm::object::ELFFile<ElfType>;
  const auto fail = [](llvm::Error error) {
    return InternalError("check artifact: " + OneLine(llvm::toString(std::move(error))));
  };
  llvm::Expected<ElfFile> elf = ElfFile::create(llvm::StringRef(shared_object.data(), shared_object.size()));
  if (!elf) return fail(elf.takeError());
  auto entries = elf->dynamicEntries();
  if (!entries) return fail(entries.takeError());
  for (const auto& entry : *entries) {
    if (entry.d_tag == llvm::ELF::DT_NEEDED)
      return InternalError("check artifact: it needs another library; emit what it is needed for");
    if (entry.d_tag == llvm::ELF::DT_INIT || entry.d_tag == llvm::ELF::DT_INIT_ARRAY)
      return InternalError("check artifact: it has a constructor");
  }
  auto sections = elf->sections();
  if (!sections) return fail(sections.takeError());
  for (const auto& section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_DYNSYM) continue;
    auto symbols = elf->symbols(&section);
    auto names = elf->getStringTableForSymtab(section);
    if (!symbols) return fail(symbols.takeError());
    if (!names) return fail(names.takeError());
    for (const auto& symbol : symbols->drop_front()) {
      auto name = symbol.getName(*names);
      if (!name) return fail(name.takeError());
      if (symbol.isUndefined())
        return InternalError(
            fmt::format("check artifact: undefined symbol \"{}\"; emit it with the kernels", name->str()));
    }
  }
  return OkStatus();
}

}  // namespace

Status CheckSelfContained(std::string_view shared_object) {
  const bool is_32_bit = shared_object.size() > llvm::ELF::EI_CLASS &&
                         shared_object[llvm::ELF::EI_CLASS] == static_cast<char>(llvm::ELF::ELFCLASS32);
  return is_32_bit ? CheckSelfContainedElf<llvm::object::ELF32LE>(shared_object)
                   : CheckSelfContainedElf<llvm::object::ELF64LE>(shared_object);
}

}  // namespace lathe
