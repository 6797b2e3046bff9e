// Chromium through playwright-core, which is installed below the build directory once. Tests that need a page
// get { browser }, or { missing }: why there is none.
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const build = process.env.NAY_BUILD ?? join(here, '../../build/dev');
/** Milliseconds after which a wait ends that would never: how loaded the machine is must not matter. */
export const PATIENCE = Number(process.env.NAY_TIMEOUT ?? 600000);

export const packages = join(build, 'tests/web');

/** The packages of package-lock.json; returns why not, or ''. */
export function installPackages() {
  const lock = join(packages, 'package-lock.json');
  const wanted = readFileSync(join(here, 'package-lock.json'));
  if (existsSync(join(packages, 'installed')) && existsSync(lock) && readFileSync(lock).equals(wanted)) return '';
  rmSync(join(packages, 'node_modules'), { recursive: true, force: true });
  mkdirSync(packages, { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) copyFileSync(join(here, name), join(packages, name));
  try {
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'],
      { cwd: packages, stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    return `npm cannot install playwright-core and axe-core: ${String(error.stderr ?? error).split('\n')[0]}`;
  }
  writeFileSync(join(packages, 'installed'), '');
  return '';
}

/** Debian's Chromium, or what NAY_CHROMIUM names. */
function chromium() {
  const asked = process.env.NAY_CHROMIUM;
  if (asked) return asked;
  const found = spawnSync('sh', ['-c', 'command -v chromium chromium-browser google-chrome'], { encoding: 'utf8' });
  return found.stdout.split('\n')[0];
}

export const requirePackage = (name) => createRequire(join(packages, 'package.json'))(name);

export async function openBrowser() {
  const executablePath = chromium();
  if (!executablePath) return { missing: 'no chromium here' };
  const missing = installPackages();
  if (missing) return { missing };
  const browser = await requirePackage('playwright-core').chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: PATIENCE });
  return { browser };
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === 'install') {
  const missing = installPackages();
  if (missing) console.log(`# ${missing}`);
}
