/* System calls without a library, for kernels that do what no kernel may. */
#ifndef LATHE_TESTS_RUNTIME_KERNELS_HOSTILE_H_
#define LATHE_TESTS_RUNTIME_KERNELS_HOSTILE_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include "meta.h"

static long Call(long number, long a, long b, long c, long d, long e) {
#if defined(__x86_64__)
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
#else
  return -38;
#endif
}

#define CALL(number, ...) CALL_(number, __VA_ARGS__, 0, 0, 0, 0, 0)
#define CALL_(number, a, b, c, d, e, ...) Call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))

/* What the kernel says of a call that came back. */
static int32_t Refused(const LatheContext* ctx, long result) {
  ctx->fail(ctx, result < 0 ? "the call was refused" : "the call was obeyed");
  return LATHE_KERNEL_ASSERT;
}

#endif
