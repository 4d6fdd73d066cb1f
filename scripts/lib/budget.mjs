// Counts packages, lines, settings and other figures of size, and compares them with the limits in scripts/budget.json.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { parseSync } from '@swc/core';

/** Lines that make a function long. */
const longFunctionLines = 100;

const isGenerated = (file) => /^(packages\/proto\/gen|clients\/typescript\/src\/generated)\//.test(file);
const isCode = (file) => /\.(tsx?|mts|mjs|cjs)$/.test(file) && !isGenerated(file);
const isTest = (file) => /(^|\/)test\/|^packages\/testkit\//.test(file);
/** Files that the list of their service imports, one per method, route or command. */
const isListed = (file) => /\/(rpc|routes|commands)\//.test(file);

/**
 * Returns the figures by name.
 * @param root folder of the repository
 * @param files all files of the repository, relative to `root`
 */
export function countFigures(root, files) {
  const textOf = (file) => readFileSync(join(root, file), 'utf8');
  const texts = (kept) => new Map(files.filter(kept).map((file) => [file, textOf(file)]));
  const product = texts((file) => isCode(file) && !isTest(file));
  const tests = texts((file) => isCode(file) && isTest(file));
  const documents = texts((file) => file.endsWith('.md'));
  const settings = 'packages/runtime/src/settings/settings-table.ts';
  return {
    packages: files.filter((file) => /^packages\/[^/]+\/package\.json$/.test(file)).length,
    'product lines': sum(product, codeLines),
    'test lines': sum(tests, codeLines),
    settings: existsSync(join(root, settings)) ? count(textOf(settings), /^ {2}[A-Z][A-Z0-9_]+: /gm) : 0,
    'named number constants': sum(product, (text) => count(text, namedNumber)),
    [`functions of ${longFunctionLines} lines or more`]: sum(product, longFunctions),
    'files with one importer': filesWithOneImporter(product),
    'words of documents': sum(documents, (text) => count(text, /\S+/g)),
  };
}

/** Returns a line per figure that is over its limit, and per figure or limit without the other. */
export function exceededLimits(figures, limits) {
  const names = new Set([...Object.keys(figures), ...Object.keys(limits)]);
  return [...names].flatMap((name) => {
    const [figure, limit] = [figures[name], limits[name]];
    if (figure === undefined) return [`${name}: not a figure; remove it from scripts/budget.json`];
    if (limit === undefined) return [`${name}: ${figure}, without a limit; add one to scripts/budget.json`];
    if (figure <= limit) return [];
    return [
      `${name}: ${figure}, ${figure - limit} over the limit of ${limit}. Remove as much elsewhere, or raise the limit in ` +
        'scripts/budget.json in the same commit, with the reason in its message.',
    ];
  });
}

/** A module constant with a value that is a number or a product of numbers. */
const namedNumber = /^(?:export )?const \w+(?:: number)? = -?[\d_.]+(?: \*{1,2} [\d_.]+)*;/gm;

function sum(texts, measure) {
  return [...texts].reduce((total, [file, text]) => total + measure(text, file), 0);
}

function count(text, pattern) {
  return text.match(pattern)?.length ?? 0;
}

/** Counts the lines that are neither blank nor part of a comment. */
function codeLines(text) {
  return text.split('\n').filter((line) => !/^\s*($|\/\/|\/\*|\*)/.test(line)).length;
}

function longFunctions(text, file) {
  const lines = text.split('\n').length;
  if (lines < longFunctionLines) return 0;
  // Positions are bytes from the first program that this process has parsed. The statement before the text shows where
  // the text begins.
  const source = Buffer.from(`0;${text.replace(/^#!.*/, '')}`);
  const { body } = parseSync(source.toString(), { syntax: 'typescript', tsx: file.endsWith('x'), target: 'es2024' });
  const [first, ...statements] = body;
  const linesOf = ({ start, end }) => {
    const part = source.subarray(start - first.span.start, end - first.span.start);
    return part.toString().split('\n').length;
  };
  return functionsIn(statements).filter((one) => linesOf(one) >= longFunctionLines).length;
}

/** Returns the spans of all functions, methods and constructors in a syntax tree, nested ones included. */
function functionsIn(node) {
  if (Array.isArray(node)) return node.flatMap(functionsIn);
  if (node === null || typeof node !== 'object') return [];
  const inner = Object.values(node).flatMap(functionsIn);
  const isFunction =
    /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression|ClassMethod|PrivateMethod|Constructor|MethodProperty)$/;
  return isFunction.test(node.type) ? [node.span ?? node.function.span, ...inner] : inner;
}

/** Counts the files that exactly one other file imports by its path. Entries of a package are imported by its name. */
function filesWithOneImporter(texts) {
  const importers = new Map();
  for (const [file, text] of texts) {
    for (const [, path] of text.matchAll(/\b(?:from|import) ?\(?'(\.{1,2}\/[^']+)'/g)) {
      const imported = normalize(join(dirname(file), path));
      importers.set(imported, (importers.get(imported) ?? new Set()).add(file));
    }
  }
  const isCounted = (file) => texts.has(file) && !isListed(file) && !/^packages\/.*\/index\.ts$/.test(file);
  return [...importers].filter(([file, by]) => by.size === 1 && isCounted(file)).length;
}
