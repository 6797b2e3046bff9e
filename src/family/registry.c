/* registry.c - the native families by index, kind and name (families.h lists them), and what a
 * family without batches of its own has instead. */
#include "family/family.h"
#include "family/list.h"
#include "family/map.h"
#include "family/range.h"
#include "family/sbbf.h"

#define REGISTRY_ENTRY(name) &nay__family_##name,
static const nay_family *const registry[] = {NAY_FAMILIES(REGISTRY_ENTRY)};

/* Native families that nay__family_at leaves out: those that are built of more than hashes, and
 * that of exchange, which no plan recommends. */
static const nay_family *const registry_others[] = {&nay__family_map, &nay__family_range,
                                                    &nay__family_list, &nay__family_sbbf};
#define REGISTRY_NOTHERS (sizeof registry_others / sizeof registry_others[0])

const nay_family *nay__family_at(size_t i) {
  return i < sizeof registry / sizeof registry[0] ? registry[i] : NULL;
}

const nay_family *nay__family_find(nay_kind kind) {
  const nay_family *family;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    if (family->kind == kind) return family;
  }
  for (size_t j = 0; j < REGISTRY_NOTHERS; j++) {
    if (registry_others[j]->kind == kind) return registry_others[j];
  }
  return NULL;
}

bool nay__family_is_native(const nay_family *family) {
  return nay__family_find(family->kind) == family;
}

static nay_status registry_add_each(nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                    unsigned n, const uint64_t *next, uint64_t *bitmap,
                                    size_t *taken) {
  (void)next;
  return nay__add_each(f->family->add, f, lo, hi, n, bitmap, taken);
}

static uint64_t registry_test_each(const nay_filter *f, const uint64_t *lo, const uint64_t *hi,
                                   unsigned n, const uint64_t *next) {
  (void)next;
  return nay__test_each(f->family->test, f, lo, hi, n);
}

const nay_family_batch nay__batch_each = {.add = registry_add_each, .test = registry_test_each};

const char *nay_kind_name(nay_kind kind) {
  if (kind == NAY_AUTO) return "auto";
  const nay_family *family = nay__family_find(kind);
  return family != NULL ? family->name : NULL;
}

nay_status nay_kind_parse(const char *name, nay_kind *kind) {
  if (name == NULL || kind == NULL) return NAY_EINVAL;
  if (strcmp(name, "auto") == 0) {
    *kind = NAY_AUTO;
    return NAY_OK;
  }
  const nay_family *family;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    if (strcmp(family->name, name) == 0) {
      *kind = family->kind;
      return NAY_OK;
    }
  }
  for (size_t j = 0; j < REGISTRY_NOTHERS; j++) {
    if (strcmp(registry_others[j]->name, name) == 0) {
      *kind = registry_others[j]->kind;
      return NAY_OK;
    }
  }
  return NAY_EINVAL;
}

uint32_t nay_kind_traits(nay_kind kind) {
  const nay_family *family = nay__family_find(kind);
  return family != NULL ? family->traits : 0;
}
