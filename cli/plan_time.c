/*
 * plan_time.c - what the lookups of a planned tree cost in time: each data block a read, each
 * filter a probe. Nothing is cached, and nothing overlaps: document 000 of nori computes its "9.2x"
 * so.
 */
#include "plan.h"

double plan_seconds(const nay_sst_plan *plan, nay_sst_plan_allocation a, const plan_times *times,
                    double absent, bool filters) {
  nay_sst_level level = {.size = sizeof level};
  double before = 0, found = 0, nkeys = 0; /* seconds of the levels above; of all keys */
  for (size_t i = 0; nay_sst_plan_level(plan, a, i, &level) == NAY_OK; i++) {
    bool probes = filters && level.nfilters > 0;
    double probe = probes ? times->probe : 0;
    double run = probe + (probes ? level.fpr : 1) * times->read; /* that lacks the key */
    /* on average half of the level's other runs come first; then its own filter and block */
    double own = (double)(level.nruns - 1) / 2 * run + probe + times->read;
    found += (double)level.nkeys * (before + own);
    before += (double)level.nruns * run;
    nkeys += (double)level.nkeys;
  }
  return absent * before + (1 - absent) * (nkeys > 0 ? found / nkeys : 0);
}
