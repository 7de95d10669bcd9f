#include "compiler/codegen/llvm/link.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

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

class TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* base = std::getenv("TMPDIR");
    path_ = fmt::format("{}/lathe-link-XXXXXX", base != nullptr && *base != '\0' ? base : "/tmp");
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~TemporaryFolder() {
    if (path_.empty()) return;
    unlink(output().c_str());
    rmdir(path_.c_str());
  }
  bool ok() const { return !path_.empty(); }
  std::string output() const { return path_ + "/out.so"; }

 private:
  std::string path_;
};

Status SystemError(std::string_view what) {
  const int error = errno;
  const std::string message = fmt::format("link: {}: {}", what, std::strerror(error));
  return error == ENOSPC || error == ENOMEM ? ResourceExhausted(message) : InternalError(message);
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

std::string OneLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.substr(0, 600);
}

}  // namespace

StatusOr<std::string> LinkSharedObject(std::span<const std::string_view> objects, const Target& target) {
  std::vector<FileDescriptor> files;
  std::vector<std::string> args = {"ld.lld",
                                   "-shared",
                                   "-m",
                                   target.arch() == Target::Arch::kX86_64 ? "elf_x86_64" : "aarch64linux",
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
  for (const std::string_view object : objects) {
    ASSIGN_OR_RETURN(FileDescriptor file, WriteMemoryFile(object));
    args.push_back(fmt::format("/proc/self/fd/{}", file.get()));
    files.push_back(std::move(file));
  }
  const TemporaryFolder folder;
  if (!folder.ok()) return SystemError("create a folder for the linked file");
  args.insert(args.end(), {"-o", folder.output()});
  std::vector<const char*> raw_args;
  for (const std::string& arg : args) raw_args.push_back(arg.c_str());
  std::string output, errors;
  llvm::raw_string_ostream output_stream(output), error_stream(errors);
  const lld::Result result = lld::lldMain(raw_args, output_stream, error_stream, {{lld::Gnu, &lld::elf::link}});
  if (!result.canRunAgain)
    return InternalError(fmt::format("link: lld cannot go on in this process: {}", OneLine(errors)));
  if (result.retCode != 0) return InternalError(fmt::format("link: {}", OneLine(errors)));
  return ReadWholeFile(folder.output());
}

Status CheckSelfContained(std::string_view shared_object) {
  using ElfFile = llvm::object::ELFFile<llvm::object::ELF64LE>;
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

}  // namespace lathe
