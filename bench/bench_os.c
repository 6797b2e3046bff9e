/* bench_os.c - clock, pinning, memory, description of the machine. Linux first; POSIX elsewhere. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define OS_HUGE_FROM ((size_t)4 << 20) /* where the library advises huge pages too */

void bench_say(const char *format, ...) {
  if (!isatty(STDERR_FILENO)) return;
  fputs("\r\033[K", stderr);
  if (format != NULL) {
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
  }
  fflush(stderr);
}

_Noreturn void bench_die(const char *format, ...) {
  bench_say(NULL);
  fputs("nay-bench: ", stderr);
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(2);
}

static size_t os_mapped(size_t nbytes) {
  size_t huge = (size_t)2 << 20;
  return nbytes >= OS_HUGE_FROM ? (nbytes + 2 * huge - 1) / huge * huge : nbytes;
}

void *bench_alloc(size_t nbytes) {
  if (nbytes == 0) nbytes = 1;
  size_t mapped = os_mapped(nbytes);
  void *at = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) bench_die("no memory for %zu bytes: %s", nbytes, strerror(errno));
#ifdef MADV_HUGEPAGE
  if (nbytes >= OS_HUGE_FROM) (void)madvise(at, mapped, MADV_HUGEPAGE);
#endif
  return at;
}

void bench_free(void *at, size_t nbytes) {
  if (at != NULL) munmap(at, os_mapped(nbytes == 0 ? 1 : nbytes));
}

static double os_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_now(void) { return os_clock(CLOCK_MONOTONIC); }
double bench_cpu(void) { return os_clock(CLOCK_PROCESS_CPUTIME_ID); }

int bench_pin(int cpu) {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  for (int i = CPU_SETSIZE - 1; i >= 0 && cpu < 0; i--) {
    if (CPU_ISSET((size_t)i, &allowed)) cpu = i; /* the last: interrupts favour the first */
  }
  if (cpu < 0 || cpu >= CPU_SETSIZE) return -1;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET((size_t)cpu, &one);
  return sched_setaffinity(0, sizeof one, &one) == 0 ? cpu : -1;
#else
  (void)cpu;
  return -1;
#endif
}

void bench_warm(double seconds) {
  uint64_t sink = 0;
  double end = bench_now() + seconds;
  while (bench_now() < end) {
    for (uint64_t i = 0; i < 10000; i++) sink += i * i;
    __asm__ volatile("" : "+r"(sink));
  }
}

/* The value of the first line "name : value" of a file, or its first line when name is empty. */
static void os_line(const char *path, const char *name, char *out, size_t cap) {
  snprintf(out, cap, "unknown");
  FILE *file = fopen(path, "r");
  if (file == NULL) return;
  char line[512];
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, name, strlen(name)) != 0) continue;
    const char *colon = *name != '\0' ? strchr(line, ':') : NULL;
    const char *value = colon != NULL ? colon + 1 : line;
    value += strspn(value, " \t");
    snprintf(out, cap, "%.*s", (int)strcspn(value, "\n"), value);
    break;
  }
  fclose(file);
}

static void os_caches(char *out, size_t cap) {
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; i < 8; i++) {
    char path[96], level[16], type[32], size[32];
    const char *base = "/sys/devices/system/cpu/cpu0/cache/index";
    snprintf(path, sizeof path, "%s%d/level", base, i);
    os_line(path, "", level, sizeof level);
    snprintf(path, sizeof path, "%s%d/type", base, i);
    os_line(path, "", type, sizeof type);
    snprintf(path, sizeof path, "%s%d/size", base, i);
    os_line(path, "", size, sizeof size);
    if (strcmp(level, "unknown") == 0) break;
    if (strcmp(type, "Instruction") == 0) continue;
    int n = snprintf(out + used, cap - used, "%sL%s %s", used != 0 ? ", " : "", level, size);
    if (n < 0 || (size_t)n >= cap - used) break;
    used += (size_t)n;
  }
}

/* "AMD EPYC 9V74" -> "amd-epyc-9v74": for names of files. */
static void os_short_name(const char *from, char *out, size_t cap) {
  size_t n = 0;
  for (; *from != '\0' && n + 1 < cap; from++) {
    char c = *from >= 'A' && *from <= 'Z' ? (char)(*from - 'A' + 'a') : *from;
    bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain) out[n++] = c;
    if (!plain && n != 0 && out[n - 1] != '-') out[n++] = '-';
  }
  while (n != 0 && out[n - 1] == '-') n--;
  out[n] = '\0';
}

void bench_machine_read(bench_machine *m) {
  memset(m, 0, sizeof *m);
  os_line("/proc/cpuinfo", "model name", m->cpu, sizeof m->cpu);
  os_short_name(m->cpu, m->host, sizeof m->host);
  os_caches(m->caches, sizeof m->caches);
  os_line("/sys/kernel/mm/transparent_hugepage/enabled", "", m->huge_pages, sizeof m->huge_pages);
  struct utsname name;
  if (uname(&name) == 0) {
    snprintf(m->kernel, sizeof m->kernel, "%.40s %.60s %.20s", name.sysname, name.release,
             name.machine);
  }
#if defined(__clang__)
  snprintf(m->compiler, sizeof m->compiler, "clang %s", __clang_version__);
#elif defined(__GNUC__)
  snprintf(m->compiler, sizeof m->compiler, "gcc %s", __VERSION__);
#endif
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc) != NULL) strftime(m->date, sizeof m->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  m->ncpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
  m->memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  m->pinned = -1;
}
