/* plan_lsm.h - nay plan --lsm: bits per key for each level of an LSM tree. */
#ifndef NAY_PLAN_LSM_H
#define NAY_PLAN_LSM_H

#include "options.h"

/* The options of plan that go with --lsm, for its table of rows. */
#define PLAN_LSM_OPTIONS                                                                             \
  {"lsm",                                                                                            \
   0,                                                                                                \
   NULL,                                                                                             \
   OPTION_FLAG,                                                                                      \
   AT(lsm),                                                                                          \
   "plan the levels of an LSM tree: the same bits per key everywhere, beside Monkey's allocation",   \
   NULL,                                                                                             \
   0,                                                                                                \
   NULL},                                                                                            \
      {"ratio",   0,                                                                                 \
       "N",       OPTION_COUNT,                                                                      \
       AT(ratio), "LSM tree: a level is N times as large as the one before it (default 10)",         \
       NULL,      0,                                                                                 \
       NULL},                                                                                        \
      {"tiered",   0,                                                                                \
       NULL,       OPTION_FLAG,                                                                      \
       AT(tiered), "LSM tree: a level collects up to N - 1 runs before they are merged",             \
       NULL,       0,                                                                                \
       NULL},                                                                                        \
      {"lazy-leveled",                                                                               \
       0,                                                                                            \
       NULL,                                                                                         \
       OPTION_FLAG,                                                                                  \
       AT(lazy_leveled),                                                                             \
       "LSM tree: tiered, but the last level is one run",                                            \
       NULL,                                                                                         \
       0,                                                                                            \
       NULL},                                                                                        \
      {"memtable", 0, "COUNT", OPTION_COUNT, AT(memtable), "LSM tree: keys of a flush (default 1M)", \
       NULL,       0, NULL},                                                                         \
      {"flushes",   0,                                                                               \
       "RUNS",      OPTION_NUMBER,                                                                   \
       AT(flushes), "LSM tree: flushes that wait in level 0 of a leveled tree (default 0)",          \
       NULL,        0,                                                                               \
       NULL},                                                                                        \
      {"table-keys",                                                                                 \
       0,                                                                                            \
       "COUNT",                                                                                      \
       OPTION_COUNT,                                                                                 \
       AT(table_keys),                                                                               \
       "LSM tree: at most COUNT keys share a filter (default: one filter for each run)",             \
       NULL,                                                                                         \
       0,                                                                                            \
       NULL},                                                                                        \
      {"reads",                                                                                      \
       0,                                                                                            \
       "RATES",                                                                                      \
       OPTION_TEXT,                                                                                  \
       AT(reads),                                                                                    \
       "LSM tree: lookups per second, such as 50k/s, or several separated by commas: tells the "     \
       "reads "                                                                                      \
       "that each wastes",                                                                           \
       NULL,                                                                                         \
       0,                                                                                            \
       NULL},                                                                                        \
      {"absent",   0,                                                                                \
       "SHARE",    OPTION_TEXT,                                                                      \
       AT(absent), "LSM tree: share of the lookups whose key is absent, such as 90% (default 100%)", \
       NULL,       0,                                                                                \
       NULL},                                                                                        \
  {                                                                                                  \
    "sweep", 0, "LIST", OPTION_TEXT, AT(sweep),                                                      \
        "LSM tree: one line for each of several bits per key, such as 8,10,12", NULL, 0, NULL        \
  }

/* plan_lsm_run: the command with --lsm. */
int plan_lsm_run(const options *o);

/* plan_lsm_refuse: exits when an option of --lsm is given without it. */
void plan_lsm_refuse(const options *o);

#endif /* NAY_PLAN_LSM_H */
