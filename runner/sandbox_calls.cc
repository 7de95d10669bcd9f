// Lists of system calls as seccomp filters. Written without libseccomp: the filter is installed between a trial and its
// first step, in a program that must start fast and be built for boards from one source
// (docs/decisions/0060-sandbox.md).
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "runner/sandbox.h"

namespace lathe {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr uint32_t kOtherAbiFrom = 0x40000000;  // x32's numbers, which the architecture does not tell from ours.
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr uint32_t kOtherAbiFrom = UINT32_MAX;
#elif defined(__arm__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_ARM;
constexpr uint32_t kOtherAbiFrom = UINT32_MAX;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr uint32_t kArchitecture = AUDIT_ARCH_RISCV64;
constexpr uint32_t kOtherAbiFrom = UINT32_MAX;
#else
#error "runner/sandbox_calls.cc: name this architecture"
#endif

constexpr long kKernelCalls[] = {
    SYS_read,
    SYS_write,
    SYS_pread64,
    SYS_sendto,  // To the supervisor; there is no other socket.
    SYS_recvfrom,
    SYS_close,
    SYS_lseek,
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_futex,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getcpu,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrusage,
    SYS_getpid,
    SYS_gettid,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_membarrier,
    SYS_set_robust_list,  // Threads that have been started and have not begun.
    SYS_exit,
    SYS_exit_group,
#ifdef SYS_mmap
    SYS_mmap,
#endif
#ifdef SYS_mmap2
    SYS_mmap2,
#endif
#ifdef SYS_send
    SYS_send,
    SYS_recv,
#endif
#ifdef SYS_clock_gettime64
    SYS_clock_gettime64,
    SYS_clock_nanosleep_time64,
    SYS_futex_time64,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef __ARM_NR_cacheflush
    __ARM_NR_cacheflush,
#endif
};

constexpr long kLoadCalls[] = {
    SYS_openat,
    SYS_fstat,
    SYS_statx,
    SYS_readlinkat,
    SYS_faccessat,
    SYS_getdents64,
    SYS_fcntl,
    SYS_prlimit64,
    SYS_getcwd,
    SYS_uname,
    SYS_sysinfo,
    SYS_sched_setaffinity,
    SYS_seccomp,
    SYS_prctl,
    SYS_getrandom,
#ifdef SYS_newfstatat
    SYS_newfstatat,
#endif
#ifdef SYS_fstatat64
    SYS_fstatat64,
    SYS_fstat64,
    SYS_fcntl64,
    SYS__llseek,
#endif
#ifdef SYS_open
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_readlink,
    SYS_access,
#endif
#ifdef SYS_arch_prctl
    SYS_arch_prctl,  // Asks for the tiles of AMX.
#endif
#ifdef SYS_riscv_flush_icache
    SYS_riscv_flush_icache,
#endif
};

constexpr long kBuildCalls[] = {
    SYS_pwrite64,   SYS_writev,   SYS_ftruncate,       SYS_fallocate,       SYS_unlinkat,     SYS_renameat2,
    SYS_mkdirat,    SYS_fchmodat, SYS_fchmod,          SYS_ioctl,           SYS_dup,          SYS_fsync,
    SYS_fdatasync,  SYS_statfs,   SYS_fstatfs,         SYS_umask,           SYS_ppoll,        SYS_getuid,
    SYS_geteuid,    SYS_getgid,   SYS_getegid,         SYS_msync,           SYS_memfd_create, SYS_pipe2,
    SYS_getsockopt, SYS_readv,    SYS_set_tid_address, SYS_copy_file_range, SYS_utimensat,
#ifdef SYS_renameat
    SYS_renameat,
#endif
#ifdef SYS_rename
    SYS_rename,     SYS_unlink,   SYS_mkdir,           SYS_rmdir,           SYS_chmod,        SYS_poll,
    SYS_creat,
#endif
};

constexpr uint16_t kLoadWord = BPF_LD | BPF_W | BPF_ABS, kIfEqual = BPF_JMP | BPF_JEQ | BPF_K,
                   kIfAtLeast = BPF_JMP | BPF_JGE | BPF_K, kIfHasBit = BPF_JMP | BPF_JSET | BPF_K,
                   kReturn = BPF_RET | BPF_K;
constexpr size_t kNumber = offsetof(seccomp_data, nr), kArch = offsetof(seccomp_data, arch),
                 kFirstArgument = offsetof(seccomp_data, args);  // Its lower half: all of these are little-endian.

class Filter {
 public:
  explicit Filter(uint32_t otherwise) : otherwise_(otherwise) {
    code_ = {BPF_STMT(kLoadWord, kArch),
             BPF_JUMP(kIfEqual, kArchitecture, 1, 0),
             BPF_STMT(kReturn, SECCOMP_RET_KILL_PROCESS),
             BPF_STMT(kLoadWord, kNumber),
             BPF_JUMP(kIfAtLeast, kOtherAbiFrom, 0, 1),
             BPF_STMT(kReturn, otherwise)};
  }
  template <size_t N>
  void Allow(const long (&calls)[N]) {
    for (const long call : calls) {
      code_.push_back(BPF_JUMP(kIfEqual, static_cast<uint32_t>(call), 0, 1));
      code_.push_back(BPF_STMT(kReturn, SECCOMP_RET_ALLOW));
    }
  }
  // Where `test`, kIfEqual or kIfHasBit, holds of the first argument.
  void AllowIf(long call, uint16_t test, uint32_t operand) {
    code_.push_back(BPF_JUMP(kIfEqual, static_cast<uint32_t>(call), 0, 4));
    code_.push_back(BPF_STMT(kLoadWord, kFirstArgument));
    code_.push_back(BPF_JUMP(test, operand, 0, 1));
    code_.push_back(BPF_STMT(kReturn, SECCOMP_RET_ALLOW));
    code_.push_back(BPF_STMT(kReturn, otherwise_));
  }
  void Refuse(long call, int error) {
    code_.push_back(BPF_JUMP(kIfEqual, static_cast<uint32_t>(call), 0, 1));
    code_.push_back(BPF_STMT(kReturn, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)));
  }
  RuntimeError Install() {
    code_.push_back(BPF_STMT(kReturn, otherwise_));
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    // SPEC_ALLOW: older kernels else turn speculation past stores off, which would be measured.
    const unsigned flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0) return {};
    return {RuntimeCode::kUnavailable, "confine system calls: " + ErrnoText(errno)};
  }

 private:
  const uint32_t otherwise_;
  std::vector<sock_filter> code_;
};

struct NamedCall {
  long number;
  const char* name;
};
constexpr NamedCall kForbidden[] = {
    {SYS_openat, "openat"},
    {SYS_socket, "socket"},
    {SYS_connect, "connect"},
    {SYS_bind, "bind"},
    {SYS_clone, "clone"},
    {SYS_execve, "execve"},
    {SYS_kill, "kill"},
    {SYS_tgkill, "tgkill"},
    {SYS_ptrace, "ptrace"},
    {SYS_process_vm_readv, "process_vm_readv"},
    {SYS_process_vm_writev, "process_vm_writev"},
    {SYS_setsid, "setsid"},
    {SYS_setpgid, "setpgid"},
    {SYS_unshare, "unshare"},
    {SYS_mount, "mount"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_memfd_create, "memfd_create"},
    {SYS_prctl, "prctl"},
    {SYS_seccomp, "seccomp"},
    {SYS_bpf, "bpf"},
    {SYS_perf_event_open, "perf_event_open"},
    {SYS_keyctl, "keyctl"},
    {SYS_userfaultfd, "userfaultfd"},
    {SYS_sched_setaffinity, "sched_setaffinity"},
    {SYS_prlimit64, "prlimit64"},
#ifdef SYS_clone3
    {SYS_clone3, "clone3"},
#endif
#ifdef SYS_io_uring_setup
    {SYS_io_uring_setup, "io_uring_setup"},
#endif
#ifdef SYS_open
    {SYS_open, "open"},
#endif
#ifdef SYS_creat
    {SYS_creat, "creat"},
#endif
#ifdef SYS_mkdir
    {SYS_mkdir, "mkdir"},
#endif
#ifdef SYS_unlink
    {SYS_unlink, "unlink"},
#endif
#ifdef SYS_fork
    {SYS_fork, "fork"},
    {SYS_vfork, "vfork"},
#endif
};

}  // namespace

uint32_t OfferedCalls() {
#ifdef LATHE_SANITIZE
  return 0;  // Sanitizers make calls of their own.
#else
  const uint32_t action = SECCOMP_RET_TRAP;  // Every list has the call that asks this, but for the last.
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0 ? kSandboxCalls : 0u;
#endif
}

RuntimeError ConfineCalls(CallList list) {
  if (OfferedCalls() == 0) return {};
  Filter filter(list == CallList::kBuild ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_TRAP);
  filter.Allow(kKernelCalls);
  if (list != CallList::kKernel) filter.Allow(kLoadCalls);
  if (list == CallList::kBuild) {
    filter.Allow(kBuildCalls);
    filter.AllowIf(SYS_clone, kIfHasBit, CLONE_THREAD);
#ifdef SYS_clone3
    filter.Refuse(SYS_clone3, ENOSYS);  // Its flags cannot be looked at; the C library then takes clone.
#endif
  }
  filter.AllowIf(SYS_tgkill, kIfEqual, static_cast<uint32_t>(getpid()));  // raise and abort.
  return filter.Install();
}

const char* ForbiddenCallName(long number) {
  for (const NamedCall& call : kForbidden) {
    if (call.number == number) return call.name;
  }
  return nullptr;
}

}  // namespace lathe
