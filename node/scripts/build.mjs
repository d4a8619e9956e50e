// Builds the package: the native module with cargo into native/, the TypeScript into dist/.
//
//     node scripts/build.mjs [--profile PROFILE] [--features FEATURES] [-- ARGUMENTS OF CARGO]
//
// `npm pack` runs it without arguments; GTC_BUILD stands for arguments there.

import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = fileURLToPath(new URL('..', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  args: process.env.GTC_BUILD?.split(' ') ?? process.argv.slice(2),
  options: {
    profile: { type: 'string', default: 'dist' },
    features: { type: 'string', default: '' },
  },
});

/** Runs a program, and gives back what it printed. */
function run(program, args, output = 'inherit') {
  const ran = spawnSync(program, args, {
    cwd: here,
    encoding: 'utf8',
    maxBuffer: 1 << 30,
    stdio: ['ignore', output, 'inherit'],
  });
  if (ran.error) throw ran.error;
  if (ran.status !== 0) process.exit(ran.status ?? 1);
  return ran.stdout;
}

/** The name of this platform, with the C library where there are several. */
function platform() {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform !== 'linux') return name;
  const { header } = process.report.getReport();
  return `${name}-${header.glibcVersionRuntime ? 'gnu' : 'musl'}`;
}

/** Builds the module, and gives back where cargo has put it. */
function library() {
  const args = ['build', '--package', 'gtc-node', '--profile', values.profile];
  if (values.features) args.push('--features', values.features);
  args.push(...positionals, '--message-format', 'json-render-diagnostics');
  const messages = run('cargo', args, 'pipe').trim().split('\n').map((line) => JSON.parse(line));
  const ours = messages.find((message) => message.target?.name === 'gtc_node' && message.filenames);
  return ours.filenames[0];
}

const native = join(here, 'native');
const module = join(native, `gtc.${platform()}.node`);
// A copy in place would change the module under a process that has it loaded.
rmSync(module, { force: true });
mkdirSync(native, { recursive: true });
copyFileSync(library(), module);
if (process.platform === 'linux') run('strip', ['--strip-unneeded', module]);

rmSync(join(here, 'dist'), { recursive: true, force: true });
run(process.execPath, [createRequire(import.meta.url).resolve('typescript/bin/tsc')]);
console.error(`built ${readdirSync(native).join(', ')}`);
