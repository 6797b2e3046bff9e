/*
 * consumer.c - a program of a user of nay, who has only the public headers. It builds a filter of
 * every family and every format and prints what came out: plans to the last bit, a digest of each
 * file. However the library was consumed, the output must be the same text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NAY_AMALGAMATED
#include "nay.h"
#else
#include <nay_advanced.h>
#include <nay_format.h>
#endif

#define NKEYS 3000u

static int failures;

static uint64_t digest(const uint8_t *bytes, size_t len) {
  uint64_t h = 0;
  for (size_t i = 0; i < len; i++) h = nay_hash_mix(h ^ bytes[i]);
  return h;
}

static void expect(nay_status status, const char *what) {
  if (status == NAY_OK) return;
  printf("%s: %s\n", what, nay_status_name(status));
  failures++;
}

/* A filter of the keys 0 .. NKEYS-1, all of which must be maybe. */
static nay_filter *fill(nay_builder *builder) {
  for (uint64_t i = 0; i < NKEYS; i++) expect(nay_builder_add(builder, &i, sizeof i), "add");
  nay_filter *filter = NULL;
  expect(nay_builder_finish(builder, NULL, &filter), "finish");
  nay_builder_free(builder);
  for (uint64_t i = 0; filter != NULL && i < NKEYS; i++) {
    if (!nay_filter_may_contain(filter, &i, sizeof i)) failures++;
  }
  return filter;
}

static void show(const char *name, const nay_format *format, const nay_plan *plan,
                 nay_builder *builder) {
  uint64_t rate;
  memcpy(&rate, &plan->fpr, sizeof rate);
  nay_filter *filter = fill(builder);
  size_t len = nay_format_encoded_size(format, filter), written = 0;
  uint8_t *bytes = malloc(len + 1);
  if (bytes == NULL) exit(2);
  expect(nay_format_encode(format, filter, bytes, len, &written), "encode");
  nay_filter *again = NULL;
  expect(nay_format_decode(format, bytes, written, 0, NULL, NULL, &again), "decode");
  printf("%s nbits %" PRIu64 " k %u fpr %016" PRIx64 " bytes %zu digest %016" PRIx64 "\n", name,
         plan->nbits, (unsigned)plan->k, rate, written, digest(bytes, written));
  nay_filter_free(again);
  nay_filter_free(filter);
  free(bytes);
}

/* A family may refuse a way of sizing (NAY_EINVAL): the same one everywhere, so that is printed. */
static void show_family(nay_kind kind, nay_params p) {
  nay_plan plan = {.size = sizeof plan};
  nay_builder *builder;
  p.kind = kind;
  p.nkeys = NKEYS;
  nay_status status = nay_params_plan(&p, NULL, &plan);
  if (status == NAY_OK) status = nay_builder_new(&p, NULL, NULL, &builder);
  if (status == NAY_OK) {
    show(nay_kind_name(kind), nay_format_find("nay"), &plan, builder);
  } else {
    printf("%s %s\n", nay_kind_name(kind), nay_status_name(status));
  }
}

static void show_families(void) {
  for (int kind = NAY_AUTO; kind < 64; kind++) {
    if (nay_kind_name((nay_kind)kind) == NULL ||
        (nay_kind_traits((nay_kind)kind) & (NAY_CAN_GET | NAY_CAN_RANGE)) != 0)
      continue;
    for (double fpr = 0.5; fpr > 1e-7; fpr /= 3)
      show_family((nay_kind)kind, (nay_params){sizeof(nay_params), .fpr = fpr});
    show_family((nay_kind)kind, (nay_params){sizeof(nay_params), .bits_per_key = 12.5});
    show_family((nay_kind)kind, (nay_params){sizeof(nay_params), .fpr = 0.01, .seed = 7});
    show_family(
        (nay_kind)kind,
        (nay_params){
            .size = sizeof(nay_params), .fpr = 0.01, .hash = NAY_HASH_SIPHASH, .key = {1, 2}});
  }
}

static void show_formats(void) {
  const nay_format *format;
  nay_params p = {sizeof p, .nkeys = NKEYS, .bits_per_key = 10};
  for (size_t i = 0; (format = nay_format_at(i)) != NULL; i++) {
    nay_plan plan = {.size = sizeof plan};
    nay_builder *builder;
    if (nay_format_plan(format, &p, NULL, &plan) != NAY_OK) continue;
    if (nay_format_builder_new(format, &p, NULL, NULL, &builder) != NAY_OK) continue;
    show(nay_format_name(format), format, &plan, builder);
  }
}

int main(void) {
  printf("nay %s\n", nay_version());
  show_families();
  show_formats();
  printf("failures %d\n", failures);
  return failures != 0;
}
