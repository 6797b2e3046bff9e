/*
 * clock.c - the time of day of a server under test, loaded into it by LD_PRELOAD: gettimeofday,
 * which is what Redis reads, takes its value from the 16 bytes of the file that NAY_CLOCK names.
 * server.py (class Clock) writes them.
 *
 *   0   int64   microseconds since 1970
 *   8   int64   0: the clock stands still; 1: the real time is added, as the timers of replication
 * need
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static const volatile int64_t *clock_page(void) {
  static const volatile int64_t *page;
  if (page != NULL) return page;
  const char *path = getenv("NAY_CLOCK");
  int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) abort();
  page = map;
  return page;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec real;
  clock_gettime(CLOCK_REALTIME, &real);
  const volatile int64_t *page = clock_page();
  int64_t us = page[0];
  if (page[1] != 0) us += (int64_t)real.tv_sec * 1000000 + real.tv_nsec / 1000;
  now->tv_sec = us / 1000000;
  now->tv_usec = us % 1000000;
  return 0;
}
