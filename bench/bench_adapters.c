/* bench_adapters.c - the list of filters: ours, the peers found when building, and plug-ins. */
#include <dlfcn.h>
#include <string.h>

#include "bench.h"

typedef struct adapters_list {
  const bench_adapter **out;
  size_t n;
} adapters_list;

static void adapters_push(adapters_list *list, const bench_adapter *adapters, size_t n) {
  if (n > BENCH_MAX_ADAPTERS - list->n) bench_die("more than %d filters", BENCH_MAX_ADAPTERS);
  for (size_t i = 0; i < n; i++) list->out[list->n++] = &adapters[i];
}

static void adapters_load(adapters_list *list, const char *path) {
  void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (object == NULL) bench_die("%s", dlerror());
  bench_adapters_fn get;
  void *symbol = dlsym(object, BENCH_PLUGIN_SYMBOL);
  if (symbol == NULL) bench_die("%s has no " BENCH_PLUGIN_SYMBOL, path);
  memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from object to function pointer */
  size_t n;
  const bench_adapter *adapters = get(&n);
  adapters_push(list, adapters, n);
}

size_t bench_adapters_all(const char *const *plugins, size_t nplugins,
                          const bench_adapter *out[BENCH_MAX_ADAPTERS]) {
  static bench_adapter ours[64];
  adapters_list list = {out, 0};
  adapters_push(&list, ours, bench_nay_adapters(ours, sizeof ours / sizeof ours[0]));
  size_t n;
#ifdef BENCH_HAS_ROCKSDB
  const bench_adapter *rocksdb = bench_rocksdb_adapters(&n);
  adapters_push(&list, rocksdb, n);
#endif
#ifdef BENCH_HAS_LEVELDB
  const bench_adapter *leveldb = bench_leveldb_adapters(&n);
  adapters_push(&list, leveldb, n);
#endif
#ifdef BENCH_HAS_LIBBLOOM
  const bench_adapter *libbloom = bench_libbloom_adapters(&n);
  adapters_push(&list, libbloom, n);
#endif
  (void)n;
  for (size_t i = 0; i < nplugins; i++) adapters_load(&list, plugins[i]);
  return list.n;
}

void bench_adapters_missing(FILE *out) {
  (void)out;
#ifndef BENCH_HAS_ROCKSDB
  fputs("left out: rocksdb is not in this build (Debian: librocksdb-dev, g++)\n", out);
#endif
#ifndef BENCH_HAS_LEVELDB
  fputs("left out: leveldb is not in this build (Debian: libleveldb-dev, g++)\n", out);
#endif
#ifndef BENCH_HAS_LIBBLOOM
  fputs("left out: libbloom is not in this build (Debian: libbloom-dev)\n", out);
#endif
}

bool bench_wanted(const char *names, const bench_adapter *a) {
  if (names == NULL) return true;
  char name[128], list[512];
  snprintf(name, sizeof name, "%s %s", a->library, a->name);
  snprintf(list, sizeof list, "%s", names);
  for (char *at = strtok(list, ","); at != NULL; at = strtok(NULL, ",")) {
    if (strstr(name, at) != NULL) return true;
  }
  return false;
}
