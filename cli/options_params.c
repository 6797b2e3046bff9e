/* options_params.c - what the options ask for: the params of a filter, the number of threads. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "numbers.h"
#include "options.h"

static uint64_t options_seed(const char *text) {
  uint64_t seed = 0;
  if (text == NULL) return 0;
  if (strcmp(text, "random") == 0) {
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
      die(EXIT_TROUBLE, "no random seed: %s", strerror(errno));
    }
    return seed;
  }
  if (!number_count(text, &seed)) die(EXIT_TROUBLE, "--seed: '%s' is not a number", text);
  return seed;
}

uint32_t options_threads(const options *o) {
  if (o->threads > 256) die(EXIT_TROUBLE, "-T: at most 256 threads");
  long n = o->threads != 0 ? (long)o->threads : sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : n > 256 ? 256 : (uint32_t)n;
}

nay_params options_params(const options *o, double default_fpr) {
  nay_params p = {.size = sizeof p,
                  .kind = o->kind,
                  .nkeys = o->nkeys,
                  .max_nkeys = o->max_keys,
                  .fpr = o->fpr,
                  .bits_per_key = o->bits_per_key,
                  .nbytes = o->nbytes,
                  .nbits = o->nbits,
                  .k = o->probes > UINT32_MAX ? UINT32_MAX : (uint32_t)o->probes,
                  .fold = o->fold,
                  .seed = options_seed(o->seed)};
  int sizes = (o->fpr != 0) + (o->bits_per_key != 0) + (o->nbytes != 0) + (o->nbits != 0);
  if (sizes > 1)
    die(EXIT_TROUBLE, "-p, -b, -M and --nbits are mutually exclusive: give one of them");
  if (sizes == 0) p.fpr = default_fpr;
  bool own = o->format == NULL && p.kind == NAY_AUTO;
  if (o->nbits != 0 && own) p.kind = NAY_BLOOM; /* m, n and k are its numbers */
  return p;
}
