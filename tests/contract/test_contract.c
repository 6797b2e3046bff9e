/* test_contract.c - what every family promises, run over the registry. */
#include "family/family.h"
#include "support/flaky.h"
#include "support/keys.h"
#include "support/test.h"

static nay_params contract_params(const nay_family *family, uint64_t nkeys) {
  return (nay_params){.kind = family->kind, .nkeys = nkeys, .fpr = 0.01};
}

static void no_false_nay(void **state) {
  const nay_family *family = *state;
  nay_params p = contract_params(family, 10000);
  for (size_t s = 0; s < N_KEY_SETS; s++) {
    nay_builder *b;
    nay_filter *f;
    uint8_t key[KEY_MAX];
    assert_ok(nay_builder_new(&p, NULL, &b));
    for (uint64_t i = 0; i < p.nkeys; i++) {
      assert_ok(nay_builder_add(b, key, key_sets[s].make(i, key)));
    }
    assert_ok(nay_builder_finish(b, &f));
    for (uint64_t i = 0; i < p.nkeys; i++) {
      assert_true(nay_filter_may_contain(f, key, key_sets[s].make(i, key)));
    }
    nay_filter_free(f);
    nay_builder_free(b);
  }
}

int main(void) {
  test_case tests[64];
  size_t n = 0;
  const nay_family *family;
  for (size_t i = 0; (family = nay__family_at(i)) != NULL; i++) {
    tests[n++] = (test_case)TEST_WITH("no_false_nay", no_false_nay, family);
  }
  return run_list("contract", tests, n);
}
