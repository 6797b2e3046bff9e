/* option_checks.c - checks the option structs of a caller; see option_checks.h. A check reads
   `size` first, because fields beyond it do not exist in the caller's struct. */
#include "block/option_checks.h"

#include "block/key_order.h"

#define SST_MAX_POLICY_NAME 200u

/* Whether the policy has a call of one of the library's own policies, which hash the bytes of
   keys. */
static bool policy_is_of_libnay(const nay_policy *p) {
  nay_policy leveldb = {.size = sizeof leveldb}, small = {.size = sizeof small};
  if (nay_policy_find(NAY_POLICY_LEVELDB, 1, &leveldb) != NAY_OK) return true;
  if (nay_policy_find(NAY_POLICY_SMALL, 1, &small) != NAY_OK) return true;
  return p->create == leveldb.create || p->may_contain == leveldb.may_contain ||
         p->create == small.create || p->may_contain == small.may_contain;
}

bool nay_sst__policy_folds(const nay_policy *p, const char *comparator) {
  if (p == NULL || p->comparator == NULL || policy_is_of_libnay(p)) return false;
  return strcmp(p->comparator, comparator) == 0;
}

nay_status nay_sst__check_lists(const nay_sst_codec *const *codecs, size_t ncodecs,
                                const nay_policy *const *policies, size_t npolicies,
                                nay_diag *diag) {
  if ((codecs == NULL && ncodecs != 0) || (policies == NULL && npolicies != 0)) {
    return nay__fail(diag, NAY_EINVAL, "codecs or policies are NULL", 0);
  }
  for (size_t i = 0; i < ncodecs; i++) {
    const nay_sst_codec *c = codecs[i];
    if (c != NULL) NAY_TRY(nay__abi_check_input(NAY_ABI_CODEC, c, diag));
    if (c == NULL || c->uncompressed_size == NULL || c->uncompress == NULL) {
      return nay__fail(diag, NAY_EINVAL, "a codec is NULL or has no calls", i);
    }
  }
  for (size_t i = 0; i < npolicies; i++) {
    const nay_policy *p = policies[i];
    if (p != NULL) NAY_TRY(nay__abi_check_input(NAY_ABI_POLICY, p, diag));
    if (p == NULL || p->name == NULL || p->may_contain == NULL) {
      return nay__fail(diag, NAY_EINVAL, "a policy is NULL or has no name or no may_contain", i);
    }
  }
  return NAY_OK;
}

nay_status nay_sst__check_prefix(const nay_sst_prefix *prefix, nay_diag *diag) {
  if (prefix == NULL) return NAY_OK;
  NAY_TRY(nay__abi_check_input(NAY_ABI_PREFIX, prefix, diag));
  if (prefix->extract == NULL || prefix->name[0] == '\0' ||
      memchr(prefix->name, '\0', sizeof prefix->name) == NULL) {
    return nay__fail(diag, NAY_EINVAL, "the prefix has no name or no extractor", 0);
  }
  return NAY_OK;
}

nay_status nay_sst__check_comparator(const nay_sst_comparator *c, nay_diag *diag) {
  if (c == NULL) return NAY_OK;
  NAY_TRY(nay__abi_check_input(NAY_ABI_COMPARATOR, c, diag));
  if (c->compare == NULL || c->name[0] == '\0' || memchr(c->name, '\0', sizeof c->name) == NULL) {
    return nay__fail(diag, NAY_EINVAL, "the comparator has no name or no compare", 0);
  }
  if (strcmp(c->name, NAY_BYTEWISE_NAME) == 0) {
    return nay__fail(diag, NAY_EINVAL, "a comparator has the name of the bytewise one: pass NULL",
                     0);
  }
  return NAY_OK;
}

nay_status nay_sst__check_writes(const nay_sst_codec *codec, const nay_policy *policy,
                                 nay_diag *diag) {
  if (policy != NULL) {
    NAY_TRY(nay__abi_check_input(NAY_ABI_POLICY, policy, diag));
    if (policy->name == NULL || policy->create == NULL || policy->may_contain == NULL ||
        policy->name[0] == '\0' || strlen(policy->name) > SST_MAX_POLICY_NAME) {
      return nay__fail(diag, NAY_EINVAL,
                       "the policy has no name, a name of more than 200 bytes, or no calls", 0);
    }
  }
  if (codec == NULL) return NAY_OK;
  NAY_TRY(nay__abi_check_input(NAY_ABI_CODEC, codec, diag));
  if (codec->id == 0 || codec->bound == NULL || codec->compress == NULL) {
    return nay__fail(diag, NAY_EINVAL, "the codec has id 0 or no calls", 0);
  }
  return NAY_OK;
}
