#include "runtime/loaded_object.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace lathe {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);
using Dynamic = ElfW(Dyn);
using Address = ElfW(Addr);

// The relocation that adds where the object lies, and whether its addend stands in the row or at its place.
#if defined(__x86_64__)
using Relocation = ElfW(Rela);
constexpr uint32_t kRelative = R_X86_64_RELATIVE;
#elif defined(__aarch64__)
using Relocation = ElfW(Rela);
constexpr uint32_t kRelative = R_AARCH64_RELATIVE;
#elif defined(__riscv)
using Relocation = ElfW(Rela);
constexpr uint32_t kRelative = R_RISCV_RELATIVE;
#elif defined(__arm__)
using Relocation = ElfW(Rel);
constexpr uint32_t kRelative = R_ARM_RELATIVE;
#else
#error "runtime/loaded_object.cc: name this architecture's relative relocation"
#endif

constexpr int64_t kTable = std::is_same_v<Relocation, ElfW(Rela)> ? DT_RELA : DT_REL;
constexpr int64_t kTableBytes = std::is_same_v<Relocation, ElfW(Rela)> ? DT_RELASZ : DT_RELSZ;
constexpr uint32_t TypeOf(const Relocation& row) {
  return static_cast<uint32_t>(sizeof(row.r_info) == 8 ? row.r_info & 0xffffffff : row.r_info & 0xff);
}

template <typename Row>
Address AddendOf(const Row& row, const std::byte* place) {
  Address addend = 0;
  if constexpr (requires { row.r_addend; })
    addend = static_cast<Address>(row.r_addend);
  else
    std::memcpy(&addend, place, sizeof(addend));
  return addend;
}

constexpr size_t kMaxSegments = 64, kMaxSymbolRows = 1 << 20;

RuntimeError Damaged(const std::string& what) {
  return {RuntimeCode::kDataLoss, "load artifact: " + what + "; build the artifact again"};
}
RuntimeError NotLoadable(const std::string& what) {
  return {RuntimeCode::kFailedPrecondition, "load artifact: " + what};
}
RuntimeError MappingError(const char* what) {
  const bool is_full = errno == ENOMEM || errno == EAGAIN;
  return {is_full ? RuntimeCode::kResourceExhausted : RuntimeCode::kUnavailable,
          std::string("load artifact: ") + what + ": " + ErrnoText(errno)};
}

// What an entry of the dynamic section asks for that a mapping alone does not give; nullptr: nothing.
const char* Demand(int64_t tag) {
  switch (tag) {
    case DT_NEEDED:
      return "it needs another library";
    case DT_INIT:
    case DT_INIT_ARRAY:
    case DT_PREINIT_ARRAY:
    case DT_FINI:
    case DT_FINI_ARRAY:
      return "it has a constructor or a destructor, which never runs here";
    case DT_TEXTREL:
      return "its code would have to be changed";
    case DT_JMPREL:
    case DT_RELR:
    case kTable == DT_RELA ? DT_REL:
    DT_RELA:
      return "it has relocations of a kind that artifacts do not have";
    default:
      return nullptr;
  }
}

int Protection(const Segment& segment) {
  return ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) | ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
         ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
}

}  // namespace

// One file on its way into memory. Every number of the file is checked before it is followed.
class ObjectMapper {
 public:
  explicit ObjectMapper(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~ObjectMapper() {
    if (fd_ >= 0) close(fd_);
  }
  ObjectMapper(const ObjectMapper&) = delete;
  ObjectMapper& operator=(const ObjectMapper&) = delete;

  RuntimeResult<LoadedObject> Run() {
    RUNTIME_RETURN_IF_ERROR(ReadHeaders());
    RUNTIME_RETURN_IF_ERROR(Reserve());
    for (const Segment& segment : segments_) {
      if (segment.p_type == PT_LOAD) RUNTIME_RETURN_IF_ERROR(MapSegment(segment));
    }
    RUNTIME_RETURN_IF_ERROR(Relocate());
    RUNTIME_RETURN_IF_ERROR(ProtectRelocated());
    RUNTIME_RETURN_IF_ERROR(ReadSymbols());
    return std::move(object_);
  }

 private:
  bool Read(uint64_t offset, void* out, size_t bytes) const {
    if (offset > file_bytes_ || bytes > file_bytes_ - offset) return false;
    return pread(fd_, out, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }
  template <typename T>
  bool ReadRows(uint64_t offset, size_t count, std::vector<T>& out) const {
    out.resize(count);
    return Read(offset, out.data(), count * sizeof(T));
  }
  Address PageOf(Address address) const { return address & ~(page_ - 1); }
  std::byte* At(Address address) const { return object_.base_ + address; }
  // Whether [address, address + bytes) lies within one loaded segment that has all of `flags`.
  bool IsInside(Address address, size_t bytes, uint32_t flags) const {
    return std::any_of(segments_.begin(), segments_.end(), [&](const Segment& segment) {
      return segment.p_type == PT_LOAD && (segment.p_flags & flags) == flags && address >= segment.p_vaddr &&
             bytes <= segment.p_memsz && address - segment.p_vaddr <= segment.p_memsz - bytes;
    });
  }

  RuntimeError ReadHeaders() {
    struct stat info;
    if (fd_ < 0 || fstat(fd_, &info) != 0) return MappingError("open it");
    file_bytes_ = S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : 0;
    constexpr unsigned char kClass = sizeof(Address) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (!Read(0, &header_, sizeof(header_)) || header_.e_ident[EI_CLASS] != kClass || header_.e_type != ET_DYN)
      return Damaged("it is no shared object of this machine's word size");
    if (header_.e_phentsize != sizeof(Segment) || header_.e_phnum == 0 || header_.e_phnum > kMaxSegments ||
        !ReadRows(header_.e_phoff, header_.e_phnum, segments_))
      return Damaged(FormatText("table of %u segments at offset %llu", header_.e_phnum,
                                static_cast<unsigned long long>(header_.e_phoff)));
    for (const Segment& segment : segments_) RUNTIME_RETURN_IF_ERROR(CheckSegment(segment));
    return {};
  }

  RuntimeError CheckSegment(const Segment& segment) const {
    if (segment.p_type == PT_TLS) return NotLoadable("it has thread-local data; artifacts have none");
    if (segment.p_type != PT_LOAD) return {};
    const Address end = segment.p_vaddr + segment.p_memsz;
    if (end < segment.p_vaddr || segment.p_filesz > segment.p_memsz || segment.p_offset > file_bytes_ ||
        segment.p_filesz > file_bytes_ - segment.p_offset)
      return Damaged("a segment passes the end of the file or of memory");
    if ((segment.p_flags & (PF_W | PF_X)) == (PF_W | PF_X))
      return NotLoadable("a segment is both writable and executable");
    if (segment.p_align < page_ || (segment.p_vaddr - segment.p_offset) % page_ != 0)
      return NotLoadable(
          FormatText("its segments are aligned to %llu bytes, this machine's pages have %llu; build it again",
                     static_cast<unsigned long long>(segment.p_align), static_cast<unsigned long long>(page_)));
    return {};
  }

  // The address range of all segments, without access.
  RuntimeError Reserve() {
    Address end = 0;
    bool has_segment = false;
    for (const Segment& segment : segments_) {
      if (segment.p_type != PT_LOAD) continue;
      if (has_segment && PageOf(segment.p_vaddr) < end) return Damaged("its segments overlap or are not in order");
      end = PageOf(segment.p_vaddr + segment.p_memsz + page_ - 1);
      if (end < segment.p_vaddr) return Damaged("a segment passes the end of memory");
      has_segment = true;
    }
    if (end == 0) return Damaged("it has no segment to load");
    void* base = mmap(nullptr, end, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return MappingError("reserve its addresses");
    object_.base_ = static_cast<std::byte*>(base);
    object_.bytes_ = end;
    return {};
  }

  // From the file; what is beyond, as zeros.
  RuntimeError MapSegment(const Segment& segment) {
    const Address begin = PageOf(segment.p_vaddr), file_end = segment.p_vaddr + segment.p_filesz,
                  end = segment.p_vaddr + segment.p_memsz, first_zero_page = PageOf(file_end + page_ - 1);
    const int protection = Protection(segment);
    if (file_end > begin && mmap(At(begin), file_end - begin, protection, MAP_PRIVATE | MAP_FIXED, fd_,
                                 static_cast<off_t>(segment.p_offset - (segment.p_vaddr - begin))) == MAP_FAILED)
      return MappingError("map a segment");
    if (end == file_end) return {};
    if ((segment.p_flags & PF_W) == 0) return Damaged("memory without contents that nobody may write");
    std::memset(At(file_end), 0, std::min(first_zero_page, end) - file_end);
    if (end > first_zero_page && mmap(At(first_zero_page), end - first_zero_page, protection,
                                      MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
      return MappingError("take memory for a segment");
    return {};
  }

  RuntimeError Relocate() const {
    const auto dynamic = std::find_if(segments_.begin(), segments_.end(),
                                      [](const Segment& segment) { return segment.p_type == PT_DYNAMIC; });
    if (dynamic == segments_.end()) return {};
    if (!IsInside(dynamic->p_vaddr, dynamic->p_memsz, PF_R)) return Damaged("its dynamic section is not in memory");
    Address table = 0, table_bytes = 0;
    for (size_t i = 0; i < dynamic->p_memsz / sizeof(Dynamic); ++i) {
      Dynamic entry;
      std::memcpy(&entry, At(dynamic->p_vaddr) + i * sizeof(entry), sizeof(entry));
      if (entry.d_tag == DT_NULL) break;
      if (const char* demand = Demand(entry.d_tag)) return NotLoadable(demand);
      if (entry.d_tag == kTable) table = entry.d_un.d_ptr;
      if (entry.d_tag == kTableBytes) table_bytes = entry.d_un.d_val;
    }
    if (table_bytes == 0) return {};
    if (!IsInside(table, table_bytes, PF_R)) return Damaged("its relocations are not in memory");
    for (size_t i = 0; i < table_bytes / sizeof(Relocation); ++i) {
      Relocation row;
      std::memcpy(&row, At(table) + i * sizeof(row), sizeof(row));
      RUNTIME_RETURN_IF_ERROR(Apply(row));
    }
    return {};
  }

  RuntimeError Apply(const Relocation& row) const {
    if (TypeOf(row) == 0) return {};  // None, on every machine.
    if (TypeOf(row) != kRelative) return NotLoadable(FormatText("it has a relocation of type %u", TypeOf(row)));
    if (!IsInside(row.r_offset, sizeof(Address), PF_W)) return Damaged("a relocation changes what nobody may write");
    Address value = AddendOf(row, At(row.r_offset));
    value += reinterpret_cast<Address>(object_.base_);
    std::memcpy(At(row.r_offset), &value, sizeof(value));
    return {};
  }

  // What only relocations had to write.
  RuntimeError ProtectRelocated() const {
    for (const Segment& segment : segments_) {
      if (segment.p_type != PT_GNU_RELRO) continue;
      if (!IsInside(segment.p_vaddr, segment.p_memsz, PF_R)) return Damaged("its constants are not in memory");
      const Address begin = PageOf(segment.p_vaddr), end = PageOf(segment.p_vaddr + segment.p_memsz);
      if (end > begin && mprotect(At(begin), end - begin, PROT_READ) != 0) return MappingError("protect its constants");
    }
    return {};
  }

  RuntimeError ReadSymbols() {
    std::vector<Section> sections;
    if (header_.e_shentsize != sizeof(Section) || !ReadRows(header_.e_shoff, header_.e_shnum, sections))
      return Damaged("its section table passes the end of the file");
    for (const Section& section : sections) {
      if (section.sh_type != SHT_DYNSYM) continue;
      if (section.sh_link >= sections.size()) return Damaged("its symbols have no names");
      RUNTIME_RETURN_IF_ERROR(ReadSymbolTable(section, sections[section.sh_link]));
    }
    return {};
  }

  RuntimeError ReadSymbolTable(const Section& table, const Section& strings) {
    std::vector<Symbol> rows;
    std::vector<char> names;
    if (table.sh_size / sizeof(Symbol) > kMaxSymbolRows || strings.sh_size > file_bytes_ ||
        !ReadRows(table.sh_offset, table.sh_size / sizeof(Symbol), rows) ||
        !ReadRows(strings.sh_offset, strings.sh_size, names) || names.empty() || names.back() != '\0')
      return Damaged("its symbol table passes the end of the file");
    for (size_t i = 1; i < rows.size(); ++i) {
      const Symbol& row = rows[i];
      if (row.st_name >= names.size()) return Damaged("a symbol has no name");
      const char* name = &names[row.st_name];
      if (row.st_shndx == SHN_UNDEF) return NotLoadable(FormatText("it needs the symbol \"%.200s\" of others", name));
      if (IsInside(row.st_value, 1, PF_R)) object_.symbols_.emplace(name, row.st_value);
    }
    return {};
  }

  const int fd_;
  const Address page_ = static_cast<Address>(sysconf(_SC_PAGESIZE));
  uint64_t file_bytes_ = 0;
  Header header_{};
  std::vector<Segment> segments_;
  LoadedObject object_;
};

RuntimeResult<LoadedObject> LoadedObject::Map(const std::string& path) { return ObjectMapper(path).Run(); }

LoadedObject::LoadedObject(LoadedObject&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_), symbols_(std::move(other.symbols_)) {}

LoadedObject::~LoadedObject() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

void* LoadedObject::Find(std::string_view symbol) const {
  const auto found = symbols_.find(symbol);
  return found == symbols_.end() ? nullptr : base_ + found->second;
}

}  // namespace lathe
