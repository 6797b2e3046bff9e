import { EEND, refuse } from './error.js';

const MERGING = ['leveled', 'tiered', 'lazy-leveled'];
const ALLOCATIONS = ['uniform', 'monkey'];

/** nay.planLsm of one full instance: bits per key for each level of an LSM tree, nay_sst_plan.h. */
function makePlanLsm(m, structs) {
  const x = m.x;

  function levels(plan, allocation) {
    const nbytes = structs.nbytes('lsmLevel');
    return m.with(nbytes, (at) => {
      const all = [];
      for (let i = 0; ; i++) {
        m.u8.fill(0, at, at + nbytes);
        m.u32[at >>> 2] = nbytes;
        const status = x.nay_sst_plan_level(plan, allocation, i, at);
        if (status === EEND) return all;
        m.check(status);
        all.push(structs.read('lsmLevel', at));
      }
    });
  }

  return (params) => {
    const { merging = 'leveled', ...rest } = params ?? {};
    const number = MERGING.indexOf(merging);
    if (number < 0) refuse(`merging: none of ${MERGING.join(', ')}`);
    const make = (p) => m.make((diag, out) => x.nay_sst_plan_new(p, 0, diag, out));
    const plan = structs.input('lsmParams', { ...rest, merging: number }, make);
    try {
      return Object.fromEntries(ALLOCATIONS.map((name, allocation) => [name, {
        levels: levels(plan, allocation),
        ...structs.output('lsmSums', (at) => m.check(x.nay_sst_plan_stats(plan, allocation, at))),
      }]));
    } finally {
      x.nay_sst_plan_free(plan);
    }
  };
}
export { makePlanLsm };
