// Finds texts that pages contain instead of the catalog (services/dashboard/web/src/texts/).
import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseSync } from '@swc/core';

const pages = join('services', 'dashboard', 'web', 'src');
/** Modules of the dashboard alone, which the portal does not show. */
const dashboard = new Set(['router.tsx']);

/** Properties and attributes with values that users read. */
const textNames =
  /^(title|label|placeholder|alt|hint|about|lead|text|aria-(label|description|roledescription|valuetext))$/;
/** Attributes with several words that users do not read. */
const codeNames = /^(className|allow|rel|style|d|viewBox|preserveAspectRatio)$/;
/** A word that begins with a capital letter, or several words. */
const prose = /^\p{Lu}\p{Ll}+\b(?![-\w])|\p{L}{2,} +\p{L}{2,}/u;
const letters = /\p{L}/u;

/** Returns a line per text in a page that the portal shows, the shared components included. */
export function portalTexts(root) {
  const files = [join(root, pages, 'main.tsx')];
  // The loop visits the files that it adds.
  for (const file of files) {
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/\b(?:from|import\()\s*'(\.[^']+\.tsx?)'/g)) {
      const imported = join(dirname(file), path);
      const name = relative(join(root, pages), imported).replaceAll('\\', '/');
      if (!/^(\.\.|texts\/)/.test(name) && !dashboard.has(name) && !files.includes(imported)) files.push(imported);
    }
  }
  return files.flatMap((file) =>
    inlineTexts(readFileSync(file, 'utf8'), file.endsWith('x')).map((text) => `${relative(root, file)}: ${text}`),
  );
}

/** Returns the texts in a module of pages: its JSX texts, texts in properties that users read, and other prose. */
export function inlineTexts(source, tsx = true) {
  const found = [];
  visit(parseSync(source, { syntax: 'typescript', tsx, target: 'es2024' }).body, prose, found);
  return found;
}

/** Visits a part of a syntax tree. `pattern`: what makes a literal in it a text. */
function visit(node, pattern, found) {
  if (Array.isArray(node)) {
    for (const one of node) visit(one, pattern, found);
    return;
  }
  if (node === null || typeof node !== 'object') return;
  const { type } = node;
  if (/^(Import|Ts|Throw)|^ExportAllDeclaration/.test(type ?? '') || /^[!=]==$/.test(node.operator)) return;
  if (type === 'JSXText' && letters.test(node.value)) found.push(node.value.trim());
  else if (type === 'StringLiteral' || type === 'TemplateElement') {
    const text = type === 'StringLiteral' ? node.value : node.raw;
    if (pattern.test(text) && !/^https?:\S+$/.test(text)) found.push(text);
  } else if (type === 'JSXAttribute') {
    const name = node.name.value ?? node.name.name.value;
    if (!codeNames.test(name)) visit(node.value, textNames.test(name) ? letters : prose, found);
  } else if (type === 'KeyValueProperty') {
    visit(node.value, textNames.test(node.key.value) ? letters : prose, found);
  } else if (type === 'JSXElement' || type === 'JSXFragment') {
    visit(node.opening?.attributes, prose, found);
    visit(node.children, letters, found);
  } else if (/^(ConditionalExpression|ParenthesisExpression|TemplateLiteral|JSXExpressionContainer)$/.test(type)) {
    visit(node.test, prose, found);
    visit([node.consequent, node.alternate, node.expression, node.expressions, node.quasis], pattern, found);
  } else if (type === 'BinaryExpression' && /^(\?\?|\|\||&&|\+)$/.test(node.operator)) {
    visit(node.left, node.operator === '&&' ? prose : pattern, found);
    visit(node.right, pattern, found);
  } else {
    for (const part of Object.values(node)) visit(part, prose, found);
  }
}
