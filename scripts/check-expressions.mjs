// node scripts/check-expressions.mjs: checks the product's regular expressions with recheck. Prints those for which a
// text exists that takes more than linear time, and the text. The complete tier runs it. The last line is "N passed, N
// failed".
//
// scripts/expressions.json lists the expressions that passed, and the version of recheck. With --write, writes it if
// all pass. With --listed, compares it with the sources, and checks only the expressions that main does not list,
// because recheck takes half a minute for all; `npm run check` does.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseSync } from '@swc/core';
import { check } from 'recheck';
import { baseCommit, git } from './lib/base-commit.mjs';
import { root } from './lib/prepare.mjs';

const timeoutMs = 600_000;
/**
 * recheck searches for an attack with random texts where its theory does not apply; the same ones in every run. It counts
 * a match's steps, and reports a match that takes longer than a limit as an attack as well, so that the load of the
 * machine would decide. The whole check's limit is enough.
 */
const options = {
  randomSeed: 1,
  timeout: timeoutMs,
  seedingTimeout: timeoutMs,
  incubationTimeout: timeoutMs,
  attackTimeout: timeoutMs,
};

const listFile = join(root, 'scripts', 'expressions.json');
const files = sourceFiles();
const found = new Map(
  [...files.flatMap(literalsIn), ...(await constructedIn(files))].map((one) => [`/${one.source}/${one.flags}`, one]),
);
const option = process.argv[2];
const problems = await problemsOf(option === '--listed' ? addedExpressions() : [...found.values()]);
if (option !== '--write') problems.push(...listProblems());
else if (problems.length === 0) writeList();
if (problems.length > 0) console.log(problems.join('\n'));
console.log(`${Math.max(0, found.size - problems.length)} passed, ${problems.length} failed`);
// recheck keeps its server running.
process.exit(problems.length > 0 ? 1 : 0);

/** Returns the product's modules, relative to the root. */
function sourceFiles() {
  const patterns = ['packages', 'services', 'cli', 'standalone', 'clients'];
  const paths = git('ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns).split('\n');
  return paths.filter(
    (file) => /\/src\/.*\.tsx?$/.test(file) && !file.startsWith('packages/testkit/') && existsSync(join(root, file)),
  );
}

/** Returns the expressions that main does not have; all of them if its list is of another version of recheck. */
function addedExpressions() {
  const listed = new Set(listOfBase());
  return [...found].flatMap(([text, expression]) => (listed.has(text) ? [] : [expression]));
}

function listOfBase() {
  try {
    const { recheck, expressions } = JSON.parse(git('show', `${baseCommit()}:scripts/expressions.json`));
    return recheck === recheckVersion() ? expressions : [];
  } catch {
    return []; // no list in that commit
  }
}

/** Compares the expressions with the list. */
function listProblems() {
  const list = JSON.parse(readFileSync(listFile, 'utf8'));
  const remedy = 'run `node scripts/check-expressions.mjs --write` and commit';
  if (list.recheck !== recheckVersion())
    return [`scripts/expressions.json is of recheck ${list.recheck}, and ${recheckVersion()} is installed; ${remedy}`];
  const listed = new Set(list.expressions);
  const missing = [...found].flatMap(([text, { place }]) =>
    listed.has(text) ? [] : [`${place}: ${text} is not listed`],
  );
  const stale = [...listed].flatMap((text) =>
    found.has(text) ? [] : [`${text} is listed, but no module contains it`],
  );
  const differences = [...missing, ...stale];
  return differences.length > 0 ? [`scripts/expressions.json is out of date; ${remedy}`, ...differences] : [];
}

function writeList() {
  const list = { recheck: recheckVersion(), expressions: [...found.keys()].sort() };
  writeFileSync(listFile, `${JSON.stringify(list, undefined, 2)}\n`);
}

function recheckVersion() {
  return JSON.parse(readFileSync(join(root, 'node_modules', 'recheck', 'package.json'), 'utf8')).version;
}

/** Checks expressions one after another: with several at a time, recheck reports attacks that do not exist. */
async function problemsOf(expressions) {
  const problems = [];
  for (const expression of expressions) {
    const problem = await problemOf(expression);
    if (problem !== undefined) problems.push(problem);
  }
  return problems;
}

async function problemOf({ place, source, flags }) {
  const result = await check(source, flags, options);
  const expression = `${place}: /${source}/${flags}`;
  if (result.status === 'safe') return undefined;
  if (result.status === 'unknown') return `${expression} is too complex for recheck: ${result.error.kind}`;
  return `${expression} is ${result.complexity.summary} for ${result.attack.pattern}`;
}

/** Returns a module's literals. */
function literalsIn(file) {
  const text = readFileSync(join(root, file), 'utf8');
  const { body } = parseSync(text, { syntax: 'typescript', tsx: file.endsWith('x'), target: 'es2024' });
  let position = 0;
  return nodesIn(body)
    .filter(({ type }) => type === 'RegExpLiteral')
    .map(({ pattern: source, flags }) => {
      position = text.indexOf(`/${source}/${flags}`, position) + 1;
      return { place: `${file}:${text.slice(0, position).split('\n').length}`, source, flags };
    });
}

/** Returns a syntax tree as a list, in the text's order. */
function nodesIn(tree) {
  if (tree === null || typeof tree !== 'object') return [];
  const inner = Object.values(tree).flatMap(nodesIn);
  return Array.isArray(tree) ? inner : [tree, ...inner];
}

/**
 * Returns the expressions that modules construct with `new RegExp` when they are imported. Fails if one is constructed
 * later, because it cannot be checked then.
 */
async function constructedIn(files) {
  const constructed = new Map();
  const original = globalThis.RegExp;
  globalThis.RegExp = new Proxy(original, {
    construct(target, given, newTarget) {
      const expression = Reflect.construct(target, given, newTarget);
      const [, url, line] = new Error().stack.split('\n')[2].match(/(file:.*):(\d+):\d+/) ?? [];
      const place = url && `${fileURLToPath(url).slice(root.length)}:${line}`;
      if (place)
        constructed.set(`${place} ${expression}`, { place, source: expression.source, flags: expression.flags });
      return expression;
    },
  });
  const places = files.flatMap((file) => {
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    return lines.flatMap((line, index) => (line.includes('RegExp(') ? [`${file}:${index + 1}`] : []));
  });
  for (const file of new Set(places.map((place) => place.split(':')[0])))
    await import(pathToFileURL(join(root, file)).href);
  globalThis.RegExp = original;
  const found = [...constructed.values()].filter(({ place }) => places.includes(place));
  const missing = places.filter((place) => !found.some((expression) => expression.place === place));
  if (missing.length === 0) return found;
  console.log(
    `construct the expression when the module is imported, so that it can be checked:\n${missing.join('\n')}`,
  );
  process.exit(1);
}
