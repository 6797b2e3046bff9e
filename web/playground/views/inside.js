/*
 * inside.js - a filter file or a table, opened in the page: what `nay info` and `nay explain` say of
 * it, its bits drawn, and what happens when one of them is damaged.
 *
 * A file is a filter in a layout that is recognised or chosen, or a table with filters inside. Damage
 * is a flipped bit in a copy; the library then opens the copy, and refuses it or does not.
 */
import { h, announce, download, sentence, Notices, UserError } from '../dom.js';
import { Density } from '../density.js';
import { inspect } from '../inspect.js';
import { readFile, EXAMPLES } from '../keys.js';
import { button, cols, FileDrop, keyInput, note, oneLine, panel, row, stack, title } from '../parts.js';
import { bytes, count } from '../number.js';
import { SAMPLES } from '../samples.js';

const HEX_ROWS = 8;

class Inside {
  constructor(context, params) {
    this.engine = context.engine;
    this.changed = context.changed;
    this.notices = new Notices();
    this.file = null; /* {name, original, data} */
    this.what = null; /* what the library made of it */
    this.drop = new FileDrop({
      label: 'A filter file or a table',
      text: 'Drop a file here: .nay, .ldb, .sst, Filter.db, a Redis dump\u2026 It stays in this page.',
      take: (file) => this.take(file),
    });
    const recognise = h('option', { value: '' }, 'recognise it');
    const named = this.engine.formats.map((f) => h('option', { value: f.name }, `${f.name}: ${f.about}`));
    const reopen = this.notices.guard(() => this.reopen());
    this.format = h('select', { id: 'layout-of-bytes', onchange: reopen }, recognise, named);
    this.ask = keyInput('A key to ask for', 'a key');
    this.density = new Density({ label: 'The bytes of the file', height: 260, onpick: (byte) => this.select(byte) });
    this.build();
    this.wanted = SAMPLES.some((s) => s.id === params.get('sample'))
      ? params.get('sample')
      : params.has('sample')
        ? null
        : 'nay';
    if (params.has('sample') && this.wanted === null)
      this.notices.say('The link names a sample that this page does not have. A link never carries a file.', true);
    this.flip = params.get('flip');
  }

  build() {
    const act = (run) => this.notices.guard(run);
    this.facts = h('div');
    this.hex = h('div', { class: 'scroll hex' });
    this.verdictBox = h('div', { 'aria-live': 'polite' });
    this.answer = h('div', { 'aria-live': 'polite' });
    this.inner = h('div');
    const label = h('label', { for: 'layout-of-bytes' }, 'Layout of the bytes');
    const never = note('Layouts without a magic number are read when you name them, never guessed.');
    const layout = panel(h('div', { class: 'field' }, label, this.format, never));
    layout.classList.add('later');
    const left = stack(
      this.drop.element,
      panel(
        title('Ask for a key'),
        oneLine(
          this.ask,
          'Ask',
          act((key) => this.query(key)),
        ),
        this.answer,
      ),
      panel(
        title('Or take a sample'),
        row(
          SAMPLES.map((s) =>
            button(
              s.label,
              act(() => this.sample(s.id)),
              'chip',
            ),
          ),
        ),
      ),
      layout,
    );
    const how =
      'Click into the picture, then a byte below: one bit of it is flipped, and the library opens the file again.';
    const right = stack(
      panel(this.verdictBox, this.facts),
      panel(
        title('Its bytes'),
        this.density.element,
        note(how),
        this.hex,
        row(
          button(
            'Repair',
            act(() => this.repair()),
          ),
          button(
            'Damage a byte somewhere',
            act(() => this.flipRandom()),
          ),
          button(
            'Download',
            act(() => this.save()),
            'quiet',
          ),
        ),
      ),
      this.inner,
    );
    this.element = h('div', null, this.notices.element, cols(left, right));
  }

  shown() {
    if (this.wanted) {
      this.notices
        .guard(() => this.sample(this.wanted))()
        .then(() => {
          const at = Number(this.flip);
          if (this.flip !== null && Number.isInteger(at) && at >= 0 && this.file && at < this.file.data.length)
            this.damage(at);
          else if (this.flip !== null)
            this.notices.say('The byte that the link wants to damage is not in this file.', true);
        });
    } else this.show();
  }

  resume() {
    this.density.redraw();
  }

  state() {
    return { sample: this.file?.sample ?? null, flip: this.file?.flipped ?? null };
  }

  async take(file) {
    if (!file) return;
    await this.notices.guard(async () => {
      const data = await readFile(file);
      if (data.length === 0) throw new UserError(`${file.name} is empty.`);
      this.format.value = '';
      this.open({ name: file.name, original: data, data: data.slice() });
    })();
  }

  sample(id) {
    const data = SAMPLES.find((s) => s.id === id).make(this.engine);
    this.format.value = SAMPLES.find((s) => s.id === id).format ?? '';
    this.open({ name: SAMPLES.find((s) => s.id === id).name, original: data, data: data.slice(), sample: id });
    this.ask.value = SAMPLES.find((s) => s.id === id).key ?? EXAMPLES[0];
  }

  open(file) {
    this.file = { ...file, flipped: null };
    this.at = Math.max(0, Math.min(file.data.length - 1, Math.floor(file.data.length / 2)));
    this.notices.clear();
    this.reopen();
  }

  /* reopen: lets the library read the bytes as they are now. */
  reopen() {
    if (!this.file) return;
    this.what?.close();
    this.what = null;
    this.answer.replaceChildren();
    try {
      this.what = inspect(this.engine, this.file.data, this.format.value);
      this.verdict = null;
    } catch (error) {
      if (!error.statusName && !(error instanceof UserError)) throw error;
      this.verdict = error;
    }
    this.show();
    this.changed();
  }

  /* show: the state of the file, its facts and its bytes. */
  show() {
    const { file } = this;
    if (!file) {
      this.verdictBox.replaceChildren(h('p', { class: 'note' }, 'No file is open.'));
      return;
    }
    this.verdictBox.replaceChildren(this.headline());
    this.facts.replaceChildren(
      this.what ? this.what.facts() : h('p', { class: 'note' }, 'Nothing is shown of bytes that cannot be trusted.'),
    );
    this.density.draw(file.data, file.data.length * 8, file.flipped);
    this.drawHex();
    this.inner.replaceChildren(this.what?.inner ? this.what.inner() : '');
    announce(this.verdictBox.textContent);
  }

  headline() {
    const { file, verdict } = this;
    const damaged = file.flipped === null ? '' : `One bit of byte ${count(file.flipped)} is flipped. `;
    if (verdict) {
      const where = verdict.offset > 0 ? `, at byte ${count(verdict.offset)}` : '';
      const status = `${sentence(verdict.message)}${where} (NAY_${verdict.statusName}).`;
      const text = verdict instanceof UserError ? verdict.message : status;
      const line = h('p', null, h('b', null, `${file.name}: refused. `), damaged, text);
      return h('div', { class: 'notice bad', 'data-state': 'refused', style: 'margin: 0' }, line);
    }
    const head = [h('h3', { 'data-state': 'open' }, file.name), note(`${bytes(file.data.length)}; ${this.what.title}`)];
    if (file.flipped === null) return h('div', null, head);
    const told = this.what.damage?.join(' ') || 'The library opened it: the byte belongs to a part that nothing needs.';
    const silent = 'This layout has no checksum: the filter opens, and may now deny keys that it has.';
    const line = this.what.checked ? [damaged, told] : [h('b', null, 'Nobody noticed. '), damaged, silent];
    return h('div', null, head, h('div', { class: 'notice bad', style: 'margin: 10px 0 0' }, h('p', null, line)));
  }

  select(byte) {
    this.at = byte;
    this.drawHex();
  }

  /* drawHex: the bytes around the chosen one; each is a button that damages it. */
  drawHex() {
    const { data } = this.file;
    const per = this.hex.clientWidth > 520 ? 16 : 8;
    const first = Math.max(0, Math.floor(this.at / per) - (HEX_ROWS >> 1)) * per;
    const rows = [];
    for (let at = first; at < Math.min(data.length, first + HEX_ROWS * per); at += per) {
      const cells = [...data.subarray(at, at + per)].map((value, i) => this.hexCell(at + i, value, per));
      const address = h('span', { class: 'addr' }, at.toString(16).padStart(6, '0'));
      rows.push(h('div', { class: 'hexrow' }, address, cells));
    }
    this.hex.replaceChildren(...rows);
  }

  hexCell(byte, value, per) {
    const text = value.toString(16).padStart(2, '0');
    const props = {
      class: byte === this.file.flipped ? 'byte hit' : byte === this.at ? 'byte here' : 'byte',
      'aria-label': `byte ${byte}, ${text}: flip a bit`,
      tabindex: byte === this.at ? 0 : -1,
      onclick: this.notices.guard(() => this.damage(byte)),
      onkeydown: (e) => this.moveHex(e, byte, per),
    };
    return h('button', { type: 'button', ...props }, text);
  }

  moveHex(event, byte, per) {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: per, ArrowUp: -per }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    this.at = Math.max(0, Math.min(this.file.data.length - 1, byte + by));
    this.drawHex();
    this.hex.querySelector('.byte[tabindex="0"]')?.focus();
  }

  damage(byte) {
    const { file } = this;
    file.data = file.original.slice();
    file.data[byte] ^= 0x10;
    file.flipped = byte;
    this.at = byte;
    const focused = this.hex.contains(document.activeElement);
    this.reopen();
    if (focused) this.hex.querySelector('.byte[tabindex="0"]')?.focus();
  }

  flipRandom() {
    if (!this.file) throw new UserError('Open a file first.');
    this.damage(Math.floor(Math.random() * this.file.data.length));
  }

  repair() {
    if (!this.file) throw new UserError('Open a file first.');
    this.file.data = this.file.original.slice();
    this.file.flipped = null;
    this.reopen();
  }

  save() {
    if (!this.file) throw new UserError('Open a file first.');
    download(this.file.name, this.file.data);
  }

  query(key) {
    if (!this.what) throw new UserError('No filter is open: there is nothing to ask.');
    this.answer.replaceChildren();
    this.answer.replaceChildren(this.what.ask(key));
  }

  close() {
    this.density.close();
    this.what?.close();
  }
}

export const inside = {
  id: 'inside',
  title: 'Look inside',
  heading: 'Look inside a file',
  lead: 'Drop a filter or a table of LevelDB, RocksDB, Redis, Cassandra. See what it holds, ask it, damage a byte. Nothing leaves this page.',
  mount: (context, params) => new Inside(context, params),
};
