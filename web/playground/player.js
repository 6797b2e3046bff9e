/*
 * player.js - plays a script of steps on a stage, forwards and backwards.
 *
 * A step is {text, writes: [{bit, nbits, value}], marks: [{bit, mark}], notes: [{bit, text}], keep, act}:
 * what it reads gets marks, what it changes is written into the shown payload, a note is text in a
 * cell, act(forward) draws what is elsewhere. Marks of the step before go away unless `keep`. Going
 * back restores the values and notes that a step found.
 */
import { h } from './dom.js';
import { animate, calm, room, spend } from './frames.js';

const LISTED = 7; /* steps around the present one that are listed */

export class Player {
  constructor(stage, hint) {
    this.stage = stage;
    this.hint = hint; /* what the list says when there are no steps */
    this.script = [];
    this.at = 0; /* steps that were applied */
    this.undo = [];
    this.stop = null;
    this.speed = 3;
    const button = (label, name, act) =>
      h('button', { type: 'button', 'aria-label': name, title: name, onclick: act }, label);
    this.playButton = button('\u25b6 Play', 'Play the steps', () => this.toggle());
    this.back = button('\u2039', 'One step back', () => this.seek(this.at - 1));
    this.next = button('\u203a', 'One step forward', () => this.seek(this.at + 1));
    this.first = button('\u00ab', 'To the start', () => this.seek(0));
    this.last = button('\u00bb', 'To the end', () => this.seek(this.script.length));
    this.rate = h(
      'select',
      {
        'aria-label': 'Speed',
        onchange: () => {
          this.speed = Number(this.rate.value);
        },
      },
      [
        [1, '1 a second'],
        [3, '3 a second'],
        [10, '10 a second'],
        [60, '60 a second'],
        [600, '600 a second'],
        [6000, '6,000 a second'],
      ].map(([v, t]) => h('option', { value: v, selected: v === 3 }, t)),
    );
    this.where = h('span', { class: 'note' });
    this.list = h('ol', { class: 'steps' });
    this.controls = h(
      'div',
      { class: 'row', role: 'group', 'aria-label': 'Steps' },
      this.first,
      this.back,
      this.playButton,
      this.next,
      this.last,
      this.rate,
      this.where,
    );
    this.element = h('div', { class: 'stack' }, this.controls, this.list);
    this.refresh();
  }

  /* load: a new script over the payload that the stage shows. It is played, or with reduced motion shown at its end. */
  load(script, { play = true, speed = null } = {}) {
    this.pause();
    this.stage.clearMarks();
    Object.assign(this, { script, at: 0, undo: [] });
    if (speed) {
      this.speed = speed;
      this.rate.value = String(speed);
    }
    if (script.length === 0) this.refresh();
    else if (!play || calm()) this.seek(script.length);
    else {
      this.seek(1);
      this.play();
    }
  }

  /* finish: everything that is still to be played, at once. */
  finish() {
    this.pause();
    if (this.at < this.script.length) this.seek(this.script.length);
  }

  play() {
    if (this.script.length === 0 || this.stop) return;
    if (this.at >= this.script.length) this.seek(0);
    let due = performance.now() + 1000 / this.speed;
    this.stop = animate((now) => {
      if (now >= due) {
        const n = Math.max(1, Math.min(Math.ceil(((now - due) * this.speed) / 1000) + 1, 200));
        this.forward(n);
        due = Math.max(due + (n * 1000) / this.speed, now - 50);
      }
      if (this.at >= this.script.length) {
        this.stop = null;
        this.refresh();
        return false;
      }
      return true;
    });
    this.refresh();
  }

  pause() {
    if (this.stop) this.stop();
    this.stop = null;
    this.refresh();
  }

  toggle() {
    if (this.stop) this.pause();
    else this.play();
  }

  /* forward: n steps, drawn once. */
  forward(n) {
    const end = Math.min(this.script.length, this.at + Math.min(n, room('steps')));
    spend('steps', end - this.at);
    while (this.at < end) this.apply(this.script[this.at]);
    this.stage.flush();
    this.refresh();
  }

  seek(to) {
    const target = Math.max(0, Math.min(this.script.length, to));
    if (target !== to && target === this.at) return;
    while (this.at > target) this.revert();
    while (this.at < target) this.apply(this.script[this.at]);
    this.stage.flush();
    this.refresh();
  }

  apply(step) {
    const { stage } = this;
    if (!step.keep) stage.clearMarks();
    const before = (step.writes ?? []).map((w) => ({
      bit: w.bit,
      nbits: w.nbits,
      value: stage.write(w.bit, w.nbits, w.value),
    }));
    const notes = (step.notes ?? []).map((n) => ({ bit: n.bit, text: stage.note(n.bit, n.text) }));
    for (const m of step.marks ?? []) stage.mark(m.bit, m.mark);
    step.act?.(true);
    this.undo.push({ before, notes });
    this.at += 1;
  }

  revert() {
    this.at -= 1;
    const step = this.script[this.at];
    step.act?.(false);
    const { before, notes } = this.undo.pop();
    for (const w of before.reverse()) this.stage.write(w.bit, w.nbits, w.value);
    for (const n of notes.reverse()) this.stage.note(n.bit, n.text);
    this.stage.clearMarks();
    const shown = this.at > 0 ? this.script[this.at - 1] : null;
    for (const m of shown?.marks ?? []) this.stage.mark(m.bit, m.mark);
  }

  refresh() {
    const { script, at } = this;
    this.playButton.textContent = this.stop ? '\u275a\u275a Pause' : '\u25b6 Play';
    this.playButton.setAttribute('aria-label', this.stop ? 'Pause' : 'Play the steps');
    for (const b of [this.first, this.back]) b.disabled = at === 0;
    for (const b of [this.next, this.last]) b.disabled = at >= script.length;
    this.playButton.disabled = script.length === 0;
    this.where.textContent =
      script.length === 0 ? '' : `step ${at.toLocaleString('en')} of ${script.length.toLocaleString('en')}`;
    if (script.length === 0) {
      this.list.replaceChildren(h('li', { class: 'later' }, h('span', null, this.hint)));
      return;
    }
    const from = Math.max(0, Math.min(at - 1 - (LISTED >> 1), script.length - LISTED));
    this.list.replaceChildren(
      ...script
        .slice(from, from + LISTED)
        .map((s, i) =>
          h(
            'li',
            { 'data-n': from + i + 1, class: from + i === at - 1 ? 'now' : from + i >= at ? 'later' : null },
            h('span', null, s.text),
          ),
        ),
    );
  }
}
