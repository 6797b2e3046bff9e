/*
 * explain.h - explanations (nay_explain.h) as nay explain keeps them: those of a key, by filter and
 * step; with --keys, for each step the keys of a file that are behind what it has found.
 *
 *   explain.c           the explanation of a key
 *   explain_members.c   the keys of --keys, streamed over the steps
 *   explain_print.c     text for people
 *   explain_json.c      JSON
 */
#ifndef NAY_CLI_EXPLAIN_H
#define NAY_CLI_EXPLAIN_H

#include <nay_explain.h>
#include <nay_sst_filters.h>

#include "promise.h"

/* explain_subject: what answers: a filter, or the filters of a table. */
typedef struct explain_subject {
  const nay_filter *filter;     /* NULL: it is the table */
  const nay_sst_filters *table; /* NULL: it is the filter */
  const promise *promise;       /* of the filter; NULL for a table, whose plan is not known */
} explain_subject;

/* member: a key of --keys, as it stands in its file. */
typedef struct member {
  struct member *next;
  size_t len;
  uint8_t text[];
} member;

/* step_members: the keys behind a step: how many, and the first of them. */
#define STEP_MEMBERS 3
typedef struct step_members {
  const member *first[STEP_MEMBERS];
  uint64_t n;
} step_members;

/* explained_filter: what one filter says of a key. */
typedef struct explained_filter {
  nay_explanation why;
  nay_kind kind; /* its family; NAY_AUTO for another system's layout */
  nay_explain_step *steps;
  step_members *members; /* one for each step; NULL without --keys */
  size_t nsteps, cap;
  bool maybe;
  bool damaged;    /* a filter of a table: its checksum is wrong, so that it answers maybe */
  bool explained;  /* false: damaged, or of a policy that cannot be explained */
  uint64_t offset; /* in the table */
} explained_filter;

typedef struct explained_key {
  uint8_t *text, *key; /* as it came, and as it is hashed */
  size_t text_len, key_len;
  bool maybe;
  explained_filter *filters; /* one; of a table those that are probed, perhaps none */
  size_t nfilters;
  uint64_t nmembers; /* keys of --keys that are this key */
} explained_key;

/* explain_key: asks why; exits when there is no memory. */
explained_key explain_key(const explain_subject *subject, const void *key, size_t len,
                          const void *text, size_t text_len);
void explained_key_free(explained_key *k);

/* explained_why: the answer of a filter in a sentence: "bit 3 of 7 is 0"; returns text. */
#define EXPLAIN_WHY 160
const char *explained_why(const explained_filter *f, char text[EXPLAIN_WHY]);

/* explained_table_why: the same for a table that probes no filter, or several. */
const char *explained_table_why(const explained_key *k);

/* ---- explain_members.c ---- */

/* members: the steps of n keys by what they read. The keys stay where they are. */
typedef struct members members;
members *members_new(explained_key *keys, size_t n);

/* members_add: a key of --keys: it is counted with each step that it is behind. */
void members_add(members *m, const explain_subject *subject, const void *key, size_t len,
                 const void *text, size_t text_len);

/* members_n: keys added so far. */
uint64_t members_n(const members *m);
void members_free(members *m);

/* ---- printing ---- */

/* explain_print: m NULL: without --keys. */
void explain_print(const explained_key *k, const explain_subject *subject, const members *m);
void explain_json(const explained_key *k, const explain_subject *subject, const members *m);

#endif /* NAY_CLI_EXPLAIN_H */
