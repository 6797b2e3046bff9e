/* registry.c - the native families. Adding one is a line here, a file beside it, a page in doc/. */
#include "family/family.h"

static const nay_family *const registry[] = {
    &nay__family_bloom,    &nay__family_blocked, &nay__family_counting,
    &nay__family_scalable, &nay__family_window,  &nay__family_cuckoo,
    &nay__family_xor,      &nay__family_fuse,    &nay__family_ribbon,
};

const nay_family *nay__family_at(size_t i) {
  return i < sizeof registry / sizeof registry[0] ? registry[i] : NULL;
}

const nay_family *nay__family_find(nay_kind kind) {
  const nay_family *family;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    if (family->kind == kind) return family;
  }
  return NULL;
}

bool nay__family_is_native(const nay_family *family) {
  return nay__family_find(family->kind) == family;
}

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
  return NAY_EINVAL;
}

unsigned nay_kind_traits(nay_kind kind) {
  const nay_family *family = nay__family_find(kind);
  return family != NULL ? family->traits : 0;
}
