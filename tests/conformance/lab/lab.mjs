// The lab in JavaScript: foo and bar in its layout, false positives, a union. Prints what the program of each other language prints.
import { load } from 'libnay';

const { formats } = await load({ full: true });
const lab = (nkeys) => formats.create('lab', { nkeys, bitsPerKey: 10 });
const keys = (prefix, first, n) => Array.from({ length: n }, (_, i) => `${prefix}${first + i}`);
const maybes = (filter, asked) => filter.hasMany(asked).reduce((sum, maybe) => sum + maybe, 0);

const [two, a, b] = [lab(2), lab(600), lab(600)];
two.addMany(['foo', 'bar']);
console.log(Buffer.from(formats.encode('lab', two)).toString('hex'));
a.addMany(keys('key', 0, 400));
b.addMany(keys('key', 200, 400));
a.merge(b);
console.log(`union: ${maybes(a, keys('key', 0, 600))} of 600 members, ${maybes(a, keys('absent', 0, 4000))} of 4000 others`);
try {
  a.remove('key1');
} catch (error) {
  if (error.statusName === 'ENOTSUP') console.log('remove: not supported');
}
