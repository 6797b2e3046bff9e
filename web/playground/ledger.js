/*
 * ledger.js - what the reader did with keys: which are in, which were removed again, which have expired.
 * A filter cannot know; the page must, or its sentences are false. Expiry is the library's: each event
 * windowExpired empties generations, and a key is gone when as many were emptied since it was added as
 * there are.
 */

export class Ledger {
  constructor() {
    this.reset();
  }

  reset() {
    this.history = []; /* {key, born, level, ages}: all adds that were not removed, in order */
    this.removed = new Set();
    this.emptied = 0; /* generations so far */
    this.newest = 0; /* the number of the newest one */
    this.ticks = []; /* how many keys had been added when a tick of the clock passed */
  }

  /* add: a key, with what the library recorded meanwhile and its explanation afterwards. */
  add(key, events, why) {
    this.watch(events);
    const at = events.find((e) => e.event === 'blockBit' || e.event === 'windowBit');
    this.history.push({ key, born: this.emptied, level: at?.event === 'blockBit' ? at.level : null, ages: why.ngroups });
    this.removed.delete(key);
  }

  /* watch: events in which generations are emptied. */
  watch(events) {
    for (const e of events) {
      if (e.event !== 'windowExpired') continue;
      for (let g = BigInt(e.generations); g > 0n; g >>= 1n) this.emptied += Number(g & 1n);
      this.newest = e.newest;
    }
  }

  /* remove: one add of a key, the last. */
  remove(key) {
    const i = this.history.findLastIndex((entry) => entry.key === key);
    this.history.splice(i, 1);
    if (!this.history.some((entry) => entry.key === key)) this.removed.add(key);
  }

  live(entry) {
    return this.emptied - entry.born < entry.ages;
  }

  /* entries, keys: of the adds that are in the filter. */
  entries() {
    return this.emptied === 0 ? this.history : this.history.filter((entry) => this.live(entry));
  }

  /* expired: keys that were in, each once. */
  expired() {
    if (this.emptied === 0) return [];
    const live = new Set(this.entries().map((entry) => entry.key));
    return [...new Set(this.history.filter((entry) => !live.has(entry.key)).map((entry) => entry.key))];
  }

  /* statusOf: 'in', 'removed', 'expired' or 'never'. */
  statusOf(key) {
    const entry = this.history.findLast((e) => e.key === key);
    if (entry) return this.live(entry) ? 'in' : 'expired';
    return this.removed.has(key) ? 'removed' : 'never';
  }

  /* groupOf: the group of an explanation in which this add put its key; the first that matches if it is not known. */
  groupOf(entry, why) {
    const level = this.emptied > 0 || entry.ages > 1 ? (entry.level ?? this.emptied - entry.born) : 0;
    const steps = why.steps.filter((s) => s.level === level);
    const ok = steps.length > 0 && steps.every((s) => s.ok) && new Set(steps.map((s) => s.group)).size === 1;
    return ok ? steps[0].group : why.group;
  }
}
