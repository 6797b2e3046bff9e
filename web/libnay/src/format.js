import { refuse } from './error.js';
import { OWN, bytesOf, liveOf } from './memory.js';

/** nay.formats of one full instance: other systems' layouts, nay_format.h. */
function makeFormats(m, structs, Filter) {
  const x = m.x;
  const live = liveOf(Filter);

  const find = (name) => {
    const format = m.withText(String(name), (at) => x.nay_format_find(at));
    return format !== 0 ? format : refuse(`format: no layout '${name}'`);
  };

  const nameOf = (format) => m.text(x.nay_format_name(format));

  return {
    list() {
      const all = [];
      for (let i = 0, format; (format = x.nay_format_at(i)) !== 0; i++) {
        all.push({
          name: nameOf(format),
          about: m.text(x.nay_format_about(format)),
          hasMagic: (x.nay_format_traits(format) & 1) !== 0,
          hasChecksum: (x.nay_format_traits(format) & 2) !== 0,
        });
      }
      return all;
    },

    recognise(bytes) {
      const from = bytesOf(bytes, 'bytes');
      const at = m.copyIn(from);
      const format = x.nay_format_recognise(at, from.length, BigInt(from.length), 0);
      m.free(at);
      return format === 0 ? null : nameOf(format);
    },

    plan(name, params) {
      const format = find(name);
      return structs.input('params', params, (p) => structs.output('plan', (plan) => {
        m.u32[m.diag >>> 2] = 0;
        m.check(x.nay_format_plan(format, p, m.diag, plan), m.diag);
      }));
    },

    create(name, params) {
      const format = find(name);
      const make = (p) => m.make((diag, out) => x.nay_format_new(format, p, 0, diag, out));
      return new Filter(OWN, structs.input('params', params, make));
    },

    build(name, keys, params, options) {
      const format = find(name);
      const make = (p) => m.make((diag, out) => x.nay_format_builder_new(format, p, 0, diag, out));
      return Filter.finish(structs.input('params', params, make), keys, options);
    },

    open(name, bytes) {
      const format = find(name);
      const from = bytesOf(bytes, 'bytes');
      const at = m.copyIn(from);
      try {
        return new Filter(OWN, m.make((diag, out) => x.nay_format_decode(format, at, from.length, 0, 0, diag, out)));
      } finally {
        m.free(at);
      }
    },

    /** The layout that a filter is in. */
    of(filter) {
      return nameOf(x.nay_filter_format(live(filter)));
    },

    /** What a user of this filter must know about its answers, or null. */
    caveat(filter) {
      return m.text(x.nay_filter_caveat(live(filter)));
    },

    encode(name, filter) {
      const format = find(name);
      const size = x.nay_format_encoded_size(format, live(filter)) >>> 0;
      return m.with(Math.max(size, 1), (at) => {
        m.check(x.nay_format_encode(format, live(filter), at, size, m.cell));
        return m.copyOut(at, m.number(m.cell));
      });
    },
  };
}
export { makeFormats };
