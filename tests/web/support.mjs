// What the tests of the JavaScript module share: the built package, TAP, golden files.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const source = process.env.NAY_SOURCE ?? join(dirname(fileURLToPath(import.meta.url)), '../..');
export const packageDirectory = join(source, 'build/wasm/libnay');

/** Ends the test with one skipped line when there is no module: build.sh has said why. */
if (!existsSync(join(packageDirectory, 'index.js'))) {
  console.log('ok 1 - libnay # SKIP no module: web/wasm/build could not run');
  console.log('1..1');
  process.exit(0);
}

const { load, NayError, hasSimd } = await import(pathToFileURL(join(packageDirectory, 'index.js')));
export const library = load;
export { NayError, hasSimd };

export function golden(name) {
  return readFileSync(join(golden.directory, name));
}
golden.directory = join(source, 'tests/golden');

let n = 0, failed = 0;

export function report(fault, name) {
  n++;
  if (fault) failed++;
  console.log(`${fault ? 'not ok' : 'ok'} ${n} - ${name}`);
  for (const line of fault ? String(fault).split('\n') : []) console.log(`# ${line}`);
}

export function finish() {
  console.log(`1..${n}`);
  process.exitCode = failed > 0 || n === 0 ? 1 : 0;
}
