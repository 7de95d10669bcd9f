/* Preloaded into a process, shifts its wall clock by the nanoseconds (int64) that the file $LATHE_CHAOS_CLOCK holds at
 * the moment. The machine's clock stays as it is, and so does the monotonic one. Waits until a moment of the wall clock
 * end when the shifted clock says so at their beginning. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const int64_t kSecond = 1000000000;
/* Monotonic times are seconds since the machine started; less than this. Wall clock times are more. */
static const time_t kFirstWallSecond = 1000000000;
/* Later is never: in nanoseconds it would not fit. */
static const time_t kLastWallSecond = 9000000000;

static const volatile int64_t kNoShift = 0;
static const volatile int64_t* shift = &kNoShift;

__attribute__((constructor)) static void MapShift(void) {
  const char* path = getenv("LATHE_CHAOS_CLOCK");
  const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) shift = mapped;
}

static struct timespec Shifted(struct timespec time, int64_t by) {
  const int64_t nanos = (int64_t)time.tv_sec * kSecond + time.tv_nsec + by;
  return (struct timespec){nanos / kSecond, nanos % kSecond};
}
/* What the kernel is to wait for, where the caller waits for `until` of the shifted clock. */
static const struct timespec* RealUntil(const struct timespec* until, struct timespec* room) {
  if (until == NULL || until->tv_sec < kFirstWallSecond || until->tv_sec > kLastWallSecond) return until;
  *room = Shifted(*until, -*shift);
  return room;
}
static void* Next(const char* name) { return dlsym(RTLD_NEXT, name); }

int clock_gettime(clockid_t clock, struct timespec* time) {
  static int (*next)(clockid_t, struct timespec*);
  if (next == NULL) next = (int (*)(clockid_t, struct timespec*))Next("clock_gettime");
  const int result = next(clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) *time = Shifted(*time, *shift);
  return result;
}

int gettimeofday(struct timeval* restrict time, void* restrict zone) {
  (void)zone;
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t* restrict condition, pthread_mutex_t* restrict mutex,
                           const struct timespec* restrict until) {
  static int (*next)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
  if (next == NULL) { /* On x86-64 there is an older one, for condition variables of another size. */
    void* newer = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    next = (int (*)(pthread_cond_t*, pthread_mutex_t*, const struct timespec*))(
        newer != NULL ? newer : Next("pthread_cond_timedwait"));
  }
  struct timespec room;
  return next(condition, mutex, RealUntil(until, &room));
}

int sem_timedwait(sem_t* restrict semaphore, const struct timespec* restrict until) {
  static int (*next)(sem_t*, const struct timespec*);
  if (next == NULL) next = (int (*)(sem_t*, const struct timespec*))Next("sem_timedwait");
  struct timespec room;
  return next(semaphore, RealUntil(until, &room));
}

/* Abseil's locks wait by futexes of their own. */
long syscall(long number, ...) {
  static long (*next)(long, ...);
  if (next == NULL) next = (long (*)(long, ...))Next("syscall");
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (int i = 0; i < 6; ++i) arguments[i] = va_arg(list, long);
  va_end(list);
  struct timespec room;
  if (number == SYS_futex && (arguments[1] & FUTEX_CLOCK_REALTIME) != 0)
    arguments[3] = (long)RealUntil((const struct timespec*)arguments[3], &room);
  return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}
