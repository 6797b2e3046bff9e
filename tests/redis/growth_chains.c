/*
 * growth_chains.c - work of n items on filters that grow, for test_growth_chains.py, which counts
 * the instructions of growth_work.
 *
 *   growth_chains CASE N        growth_chains list: the cases
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nay.h"
#include "nay_advanced.h"
#include "redis/redis.h"

#define MUST(call) \
  if ((call) != NAY_OK) exit(1)

void growth_work(void (*run)(uint64_t), uint64_t n);

__attribute__((noinline)) void growth_work(void (*run)(uint64_t), uint64_t n) { run(n); }

/* ---- chains of Bloom filters ---- */

static void bloom_chain(uint64_t n) {
  nay_sbchain *chain;
  MUST(nay__sbchain_new(0.01, 100, 2, NAY_SB_DEFAULT, NULL, &chain));
  for (uint64_t i = 0; i < n; i++) MUST(nay__sbchain_add(chain, &i, sizeof i, NULL));
  uint64_t found = 0;
  for (uint64_t i = 0; i < 2 * n; i++) found += nay__sbchain_may_contain(chain, &i, sizeof i);
  nay__sbchain_free(chain);
  if (found < n) exit(1);
}

/* The same items again: nothing is added, and no link is made. */
static void bloom_chain_again(uint64_t n) {
  nay_sbchain *chain;
  MUST(nay__sbchain_new(0.01, 100, 2, NAY_SB_DEFAULT, NULL, &chain));
  for (uint64_t i = 0; i < 2 * n; i++) {
    uint64_t item = i % n;
    MUST(nay__sbchain_add(chain, &item, sizeof item, NULL));
  }
  nay__sbchain_free(chain);
}

/* ---- chains of cuckoo filters ---- */

static nay_cfchain *cuckoo_chain_of(uint64_t n, uint32_t expansion) {
  nay_cfchain_header h;
  nay_cfchain *chain;
  MUST(nay__cfchain_plan(64, 2, 20, expansion, &h));
  MUST(nay__cfchain_new(&h, NULL, NULL, &chain));
  for (uint64_t i = 0; i < n; i++) MUST(nay__cfchain_add(chain, nay__cfchain_hash(&i, sizeof i)));
  return chain;
}

static void cuckoo_chain(uint64_t n) {
  nay_cfchain *chain = cuckoo_chain_of(n, 2);
  for (uint64_t i = 0; i < 2 * n; i++) {
    bool has = nay__cfchain_has(chain, nay__cfchain_hash(&i, sizeof i));
    if (i < n && !has) exit(1);
  }
  nay__cfchain_free(chain);
}

/* Every item is removed: each tenth of what is left compacts the chain. */
static void cuckoo_chain_removals(uint64_t n) {
  nay_cfchain *chain = cuckoo_chain_of(n, 2);
  for (uint64_t i = 0; i < n; i++) {
    if (!nay__cfchain_remove(chain, nay__cfchain_hash(&i, sizeof i))) exit(1);
  }
  nay__cfchain_free(chain);
}

/* A table that is full and may not grow: a refusal is a number of kicks, and they are undone. */
static void cuckoo_chain_refusals(uint64_t n) {
  nay_cfchain_header h;
  nay_cfchain *chain;
  MUST(nay__cfchain_plan(n / 4, 2, 20, 0, &h));
  MUST(nay__cfchain_new(&h, NULL, NULL, &chain));
  uint64_t refused = 0;
  for (uint64_t i = 0; i < n; i++) {
    refused += nay__cfchain_add(chain, nay__cfchain_hash(&i, sizeof i)) == NAY_EFULL;
  }
  nay__cfchain_free(chain);
  if (refused < n / 4) exit(1);
}

/* ---- the native cuckoo filter ---- */

static nay_filter *native(uint64_t nkeys, uint64_t max_nkeys) {
  nay_params p = {.size = sizeof p,
                  .kind = NAY_CUCKOO,
                  .nkeys = nkeys,
                  .fpr = 0.01,
                  .max_nkeys = max_nkeys,
                  .hash = NAY_HASH_CALLER};
  nay_filter *f;
  MUST(nay_filter_new(&p, NULL, NULL, &f));
  return f;
}

static void native_cuckoo(uint64_t n) {
  nay_filter *f = native(10, 1000000);
  for (uint64_t i = 0; i < n; i++) {
    MUST(nay_filter_add_hash(f, (nay_hash){nay_hash_mix(i), 0}, NULL));
  }
  nay_filter_free(f);
}

/* Adds that are refused cost as much in a large table as in a small one: copies of a key, and new
 * keys in a table that is full. */
static void native_cuckoo_refusals(uint64_t n) {
  nay_filter *f = native(10, n / 4);
  uint64_t refused = 0;
  for (uint64_t i = 0; i < n; i++) {
    refused += nay_filter_add_hash(f, (nay_hash){nay_hash_mix(i), 0}, NULL) == NAY_EFULL;
    refused += nay_filter_add_hash(f, (nay_hash){nay_hash_mix(7), 0}, NULL) == NAY_EFULL;
  }
  nay_filter_free(f);
  if (refused < n) exit(1);
}

static const struct {
  const char *name;
  void (*run)(uint64_t);
} cases[] = {
    {"bloom-chain", bloom_chain},
    {"bloom-chain-again", bloom_chain_again},
    {"cuckoo-chain", cuckoo_chain},
    {"cuckoo-chain-removals", cuckoo_chain_removals},
    {"cuckoo-chain-refusals", cuckoo_chain_refusals},
    {"native-cuckoo", native_cuckoo},
    {"native-cuckoo-refusals", native_cuckoo_refusals},
};

int main(int argc, char **argv) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (argc == 2) puts(cases[i].name);
    if (argc == 3 && strcmp(argv[1], cases[i].name) == 0) {
      growth_work(cases[i].run, strtoull(argv[2], NULL, 10));
      return 0;
    }
  }
  return argc == 2 ? 0 : 2;
}
