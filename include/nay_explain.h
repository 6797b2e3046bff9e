/* Stable: a program works with every later library of the same SONAME. */
/*
 * nay_explain.h - why a filter answers nay or maybe: what a probe reads, step by step.
 *
 *   static nay_status show(void *ctx, const nay_explain_step *step) {
 *     printf("%s %llu: bit %llu is %llu\n", step->unit, (unsigned long long)step->unit_index,
 *            (unsigned long long)step->bit, (unsigned long long)step->found);
 *     return NAY_OK;
 *   }
 *   nay_explanation why = {.size = sizeof why};
 *   nay_filter_explain(filter, "foo", 3, show, NULL, &why);
 *   puts(why.maybe ? "maybe" : "nay");
 *
 * For people and for programs that draw: a command, a debugger, a page in a browser. The
 * explanation lists all that decides the answer, where a probe stops at the first bit that does. It
 * is made of *steps*. A step reads some bits of the payload and compares what it finds with what it
 * expects. Steps form *groups*, and one rule holds for every family and every layout:
 *
 *   the answer is maybe exactly when there is a group whose steps are all ok
 *
 *   bloom, blocked, counting   one group: the k bits of the key
 *   scalable, RedisBloom's     one group for each level or link: k bits each
 *   window                     one group for each generation: k bits each
 *   cuckoo                     one group for each slot of the key's two buckets: a fingerprint
 *   xor, fuse                  one group: 3 or 4 slots, and their xor against the fingerprint
 *   ribbon                     one group: in each column a parity against a bit of the fingerprint
 *   map                        one group: the columns of the check bits alone
 *   range                      one group: the bucket of the key's value, and the value there that
 *                              decides
 *   exact list                 one group of one step: the answer that its levels give
 *
 * A filter or shard that answers the same for every key has a group of one constant step.
 *
 * Positions are bits of the payload, which is the same bytes in memory and in a file: bit b is bit
 * b % 8, least significant first, of byte b / 8. nay_explanation.payload points to it.
 *
 * Explaining costs a call for each step. Families, kinds of steps and reasons may be added, and how
 * a family probes may change; the rule, the positions and the meaning of a field do not. THREADS:
 * as for other calls on a const filter.
 */
#ifndef NAY_EXPLAIN_H
#define NAY_EXPLAIN_H

#include "nay_advanced.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nay_step_kind: what a step compares. */
typedef enum nay_step_kind {
  NAY_STEP_BIT = 1,         /* one bit, expected to be 1 */
  NAY_STEP_FINGERPRINT = 2, /* a slot of a bucket with the fingerprint of a key in it; 0: empty */
  NAY_STEP_SLOT = 3,        /* a slot for the xor below; it is always ok: expected is found */
  NAY_STEP_XOR = 4,      /* the xor of the slots of the group: reads nothing, nbits is its width */
  NAY_STEP_COLUMN = 5,   /* the parity of the bits that `mask` selects, in one column of slots */
  NAY_STEP_CONSTANT = 6, /* the answer for every key, found 1: maybe, 0: nay; expected 1 */
  NAY_STEP_VALUE = 7,    /* the low bits of a stored value, expected to be those of the key's */
  NAY_STEP_ANSWER = 8    /* an exact list: what it says of this key, found 1: listed; expected 1 */
} nay_step_kind;

/*
 * nay_explain_step: one of them. The library sets `size` to its own sizeof, and it only grows: a
 * field is there when it lies within `size`. A step of a kind that a program does not know has a
 * name, and what it finds and expects. Texts are static.
 */
typedef struct nay_explain_step {
  size_t size;
  nay_step_kind kind;
  const char *name; /* of the kind: "bit", "fingerprint", "slot", "xor", "column", "constant",
                       "value", "answer" */
  bool ok;          /* found is expected */
  uint32_t group;   /* from 0, in order */
  uint32_t level;  /* of the group: scalable's level and RedisBloom's link, 0 is the oldest; window:
                      the age of the generation, 0 is the newest; ribbon: the layer; else 0 */
  uint32_t index;  /* of the step in its group */
  uint32_t nsteps; /* of the group */
  /* the part of the payload in which the step lies */
  const char *unit;    /* "line" (64 bytes of a bit array), "block", "unit" (of a window), "bucket",
                          "segment" (of a fuse filter), "third" (of a xor filter), "slot" (of
                          nori's quotient filter); "" for steps that
                          read no unit */
  uint64_t unit_index; /* among those of its level, array or shard */
  uint64_t unit_bit;   /* where it starts in the payload */
  uint64_t unit_nbits; /* and how long it is */
  /* what is read: nbits from `bit` on; a column that goes on in the next block: nbits2 from bit2 */
  uint64_t bit;
  uint64_t bit2;
  uint32_t nbits;
  uint32_t nbits2;
  uint64_t mask[2]; /* a column: which of the nbits + nbits2 = 128 bits count, the first ones in the
                       low bits of mask[0]; else 0 */
  uint64_t found;
  uint64_t expected;
  uint32_t counter;    /* counting: keys that hold the bit; 15: 15 or more, or not known; else 0 */
  uint32_t reserved32; /* for later versions; written as 0 */
} nay_explain_step;

/* nay_explain_visitor: gets each step, in order. Another status than NAY_OK ends the explanation
 * and is returned. The step is valid during the call. */
typedef nay_status (*nay_explain_visitor)(void *ctx, const nay_explain_step *step);

/* nay_explain_reason: why the answer is what it is. */
typedef enum nay_explain_reason {
  NAY_REASON_NO_MATCH = 0,  /* nay: in every group a step is not ok */
  NAY_REASON_MATCH = 1,     /* maybe: all steps of a group are ok */
  NAY_REASON_NO_KEYS = 2,   /* nay: the filter, or the shard of the key, was made of no keys */
  NAY_REASON_NO_ANSWER = 3, /* maybe: the filter, or the shard of the key, says so for every key */
  NAY_REASON_LOCKED = 4,    /* maybe: keys cannot be hashed without the secret key */
  NAY_REASON_NO_HASH = 5,   /* maybe: the caller hashes (NAY_HASH_CALLER), so no key is known */
  NAY_REASON_DAMAGED = 6 /* maybe: a lazily mapped file, and bytes that the probe needs are bad */
} nay_explain_reason;

/* nay_explanation: the answer, and what led to it. Set `size` to sizeof before the call. */
typedef struct nay_explanation {
  size_t size;
  bool maybe; /* what nay_filter_may_contain answers */
  nay_explain_reason reason;
  const char *reason_text; /* the reason in one line, for people: static */
  nay_hash_kind hash_kind;
  nay_hash hash;            /* of the key; 0 when there is none: locked, or no hash */
  uint64_t seed;            /* of the hash function; 0 when it has none, or a secret key instead */
  uint64_t premix;          /* static families: drawn when keys crowd some shards; 0: none */
  uint64_t word;            /* what positions are computed from: hash.lo, or mix(hash.lo ^ premix);
                               range: the value that a key is stored as, and no hash */
  uint64_t nshards, shard;  /* static families: how many (ribbon: parts of the layer), and that of
                               the key; else 1 and 0 */
  uint64_t shard_seed;      /* ribbon: seed of the layer; xor, fuse: factor of the shard; else 0 */
  uint64_t nsteps, nfailed; /* steps, and those that are not ok */
  uint64_t ngroups;
  uint64_t group;      /* maybe: the first whose steps are all ok; else ngroups */
  uint32_t level;      /* of that group */
  uint32_t reserved32; /* for later versions; written as 0 */
  const void *payload; /* a view, as long as the filter is not changed */
  uint64_t payload_nbytes;
} nay_explanation;

/*
 * nay_filter_explain: why nay_filter_may_contain answers as it does for a key. visit may be NULL:
 * then there is only the summary. A lazily mapped filter verifies what the probe reads, as a probe
 * does. NAY_EINVAL: an argument is NULL, or a size is none that the library ever had. Another
 * status is the visitor's. Unless it returns NAY_OK, *explanation is as it was.
 */
NAY_API nay_status nay_filter_explain(const nay_filter *filter, const void *key, size_t len,
                                      nay_explain_visitor visit, void *ctx,
                                      nay_explanation *explanation);

#ifdef __cplusplus
}
#endif

#endif /* NAY_EXPLAIN_H */
