/*
 * blame.js - a false positive explained: which keys put there what the probe found. The positions
 * of a key are those of its own explanation; the index maps each position to the keys that have it.
 */
import { breathe } from './frames.js';

export class Blame {
  constructor(filter, ledger) {
    this.filter = filter;
    this.ledger = ledger;
    this.entries = ledger.entries();
    this.index = new Map(); /* bit -> numbers of entries */
    this.done = 0;
    this.stopped = false;
  }

  /* fill: explains keys that are not in the index yet, in pieces that leave time for a frame. */
  async fill() {
    const end = this.entries.length;
    let start = performance.now();
    while (this.done < end && !this.stopped) {
      this.addKey(this.done);
      this.done += 1;
      if (performance.now() - start > 6) {
        await breathe();
        start = performance.now();
      }
    }
  }

  /* now: all of it at once, for few keys. */
  now() {
    for (; this.done < this.entries.length; this.done += 1) this.addKey(this.done);
    return this;
  }

  /* stop: the filter is about to change or to go. */
  stop() {
    this.stopped = true;
  }

  addKey(i) {
    const why = this.filter.explain(this.entries[i].key);
    const group = this.ledger.groupOf(this.entries[i], why);
    for (const step of why.steps) {
      if (step.nbits === 0 || step.kind === 'column' || step.kind === 'xor') continue;
      if (why.ngroups > 1 && step.group !== group) continue;
      const list = this.index.get(step.bit);
      if (!list) this.index.set(step.bit, [i]);
      else if (list[list.length - 1] !== i) list.push(i);
    }
  }

  /* of: the keys that have this bit, each once. */
  of(bit) {
    return [...new Set((this.index.get(bit) ?? []).map((i) => this.entries[i].key))];
  }
}
