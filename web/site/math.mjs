// Formulas as MathML, which browsers draw without fonts or styles to load: a JSON array of [TeX, display] on standard
// input, one of HTML on standard output.
// node math.mjs KATEX, the directory of the package.
import { createRequire } from 'node:module';
import { join } from 'node:path';

const katex = createRequire(join(process.argv[2], 'package.json'))('katex');
let text = '';
for await (const piece of process.stdin) text += piece;
const rendered = JSON.parse(text).map(([tex, displayMode]) =>
  katex.renderToString(tex, { displayMode, throwOnError: true, strict: 'error', output: 'mathml' }),
);
process.stdout.write(JSON.stringify(rendered));
