/** The package as its users have it: its types, its two module systems, its documentation. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as gtc from 'gtc';
import ts from 'typescript';

import { PACKAGE, run, temporary, World } from './world.mjs';

const require = createRequire(import.meta.url);
/** What `cargo xtask languages node` tells: the tarball, and the sources of the package. */
const { GTC_TEST_TARBALL: TARBALL = '', GTC_TEST_SOURCE: SOURCE = '' } = process.env;

/** A project with nothing in it but the tarball. */
async function project(): Promise<string> {
  assert.ok(TARBALL, 'GTC_TEST_TARBALL names the tarball; `cargo xtask languages node` sets it');
  const directory = temporary('gtc-project-');
  writeFileSync(join(directory, 'package.json'), '{ "private": true }');
  const installed = await run('npm', ['install', '--offline', '--no-audit', '--no-fund', TARBALL], {}, directory);
  assert.equal(installed.code, 0, installed.stderr);
  return directory;
}

const BOOK = (topic: string, config: string) => `
  const coordinator = await Coordinator.open(${JSON.stringify(config)});
  await coordinator.transact((txn) => txn.send('eu', { topic: '${topic}', value: 'value' }));
  await coordinator.close();`;

test('the tarball works in an empty project, as ESM and as CommonJS', async () => {
  const directory = await project();
  const world = new World();
  const [topic, file] = [await world.topic(), world.configFile()];
  writeFileSync(join(directory, 'esm.mjs'), `import gtc, { Coordinator } from 'gtc';\n${BOOK(topic, file)}\nconsole.log(gtc.Coordinator === Coordinator);`);
  writeFileSync(join(directory, 'commonjs.cjs'), `const { Coordinator } = require('gtc');\n(async () => {${BOOK(topic, file)}\nconsole.log(true);})();`);
  for (const program of ['esm.mjs', 'commonjs.cjs']) {
    const ran = await run(process.execPath, [program], {}, directory);
    assert.deepEqual([ran.code, ran.stdout], [0, 'true\n'], ran.stderr);
  }
  assert.deepEqual(await world.committed('eu', topic), ['value', 'value']);
});

test('ESM and CommonJS have the same names', async () => {
  const commonjs = require('gtc') as Record<string, unknown>;
  const names = Object.keys(commonjs).filter((name) => name !== '__esModule');
  assert.deepEqual(Object.keys(gtc).filter((name) => !['default', '__esModule', 'module.exports'].includes(name)), names.sort());
  for (const name of names) assert.equal(gtc[name as 'Coordinator'], commonjs[name]);
});

test('the licences of what is linked in are in the package', () => {
  const notices = readFileSync(join(PACKAGE, 'THIRD-PARTY-NOTICES'), 'utf8');
  assert.ok(notices.includes('librdkafka'));
  assert.equal(notices, readFileSync(join(SOURCE, 'THIRD-PARTY-NOTICES'), 'utf8'));
  assert.ok(readFileSync(join(PACKAGE, 'LICENSE'), 'utf8').includes('Apache License'));
});

/** The names of the members of the interfaces in a source. */
function interfaces(path: string): Map<string, string[]> {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
  const found = new Map<string, string[]>();
  for (const statement of source.statements) {
    if (!ts.isInterfaceDeclaration(statement)) continue;
    found.set(statement.name.text, statement.members.map((member) => (member.name as ts.Identifier).text).sort());
  }
  return found;
}

test('the types of the native module are those of the native module', () => {
  const [name] = readdirSync(join(PACKAGE, 'native'));
  const native = require(join(PACKAGE, 'native', name!)) as Record<string, { prototype?: object }>;
  const typed = interfaces(join(PACKAGE, 'dist', 'native.d.ts'));
  assert.deepEqual(Object.keys(native).sort(), typed.get('Native'));
  const classes = Object.entries(native).filter(([name]) => /^[A-Z]/.test(name));
  assert.equal(classes.length, 7);
  for (const [name, { prototype }] of classes) {
    const members = Object.getOwnPropertyNames(prototype).filter((member) => member !== 'constructor');
    assert.deepEqual(members.sort(), typed.get(name), name);
  }
});

test('programs in TypeScript have their types checked, under each resolution of modules', () => {
  const text = readFileSync(join(SOURCE, 'test', 'types.mts'), 'utf8');
  const wrong = text.match(/\/\/ @ts-expect-error/g)?.length ?? 0;
  assert.ok(wrong >= 5);
  const { Node16, Bundler } = ts.ModuleResolutionKind;
  // In a project where the package is installed, and not beside its sources. It names no types, as TypeScript does from 6 on where nothing is said.
  const program = fileURLToPath(new URL('../types.mts', import.meta.url));
  writeFileSync(program, text);
  for (const [moduleResolution, module] of [[Node16, ts.ModuleKind.Node16], [Bundler, ts.ModuleKind.ES2022]] as const) {
    const options: ts.CompilerOptions = { strict: true, noEmit: true, target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts'], module, moduleResolution, types: [] };
    const found = ts.getPreEmitDiagnostics(ts.createProgram([program], options));
    assert.deepEqual(found.map(({ file, messageText }) => `${basename(file?.fileName ?? '')}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`), []);
  }
});

test('every block of the documentation is a whole sample', () => {
  const lines = (text: string) => text.trim().split('\n').map((line) => line.trim()).join('\n');
  const samples = readdirSync(join(PACKAGE, 'samples')).map((name) => lines(readFileSync(join(PACKAGE, 'samples', name), 'utf8')));
  const pages = ['README.md', '../docs/languages/node.md'].map((page) => readFileSync(join(SOURCE, page), 'utf8'));
  const blocks = pages.flatMap((page) => [...page.matchAll(/```js\n(.*?)```/gs)].map(([, block]) => block!));
  assert.ok(blocks.length >= 3);
  for (const block of blocks) assert.ok(samples.includes(lines(block)), block);
});
