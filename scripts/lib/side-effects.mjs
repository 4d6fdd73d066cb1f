// Finds statements of a module that have an effect when it is imported.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';

/** Modules of Node with effects outside of the program. */
const effective = /^node:(fs|child_process|net|http|https|http2|tls|dns|worker_threads|diagnostics_channel)(\/|$)/;
/** Imports for their effect, by file. @peculiar/x509 requires that reflect-metadata is loaded before it. */
const permitted = new Set(['packages/net/src/certificates/index.ts reflect-metadata']);
/** Functions run when they are called, not when the module is imported. */
const deferred =
  /^(ArrowFunctionExpression|FunctionExpression|ClassExpression|MethodProperty|GetterProperty|SetterProperty)$/;

/** Returns a line per side effect of importing `file`, a path relative to `root`. */
export function importSideEffects(root, file) {
  const { body } = parseSync(readFileSync(join(root, file), 'utf8'), {
    syntax: 'typescript',
    tsx: file.endsWith('x'),
    target: 'es2024',
  });
  const imported = new Map();
  const problems = [];
  for (const item of body) {
    if (item.type === 'ImportDeclaration') {
      const { value: from } = item.source;
      if (item.specifiers.length === 0 && !item.typeOnly && !permitted.has(`${file} ${from}`))
        problems.push(`imports ${from} for its effect`);
      for (const { local } of item.specifiers) imported.set(local.value, from);
      continue;
    }
    const statement = item.type === 'ExportDeclaration' ? item.declaration : item;
    if (statement.type === 'VariableDeclaration') {
      for (const call of callsIn(statement)) {
        if (call === 'await' || effective.test(imported.get(call))) problems.push(`a declaration runs ${call}`);
      }
    } else if (!/Declaration|^Export|^Ts/.test(statement.type)) problems.push(`a statement runs: ${statement.type}`);
  }
  return problems.map((problem) => `${file}: ${problem}`);
}

/** Returns the names of functions or objects that a declaration calls, and "await" for an await. */
function callsIn(node) {
  if (Array.isArray(node)) return node.flatMap(callsIn);
  if (node === null || typeof node !== 'object' || deferred.test(node.type)) return [];
  const inner = Object.values(node).flatMap(callsIn);
  if (node.type === 'AwaitExpression') return ['await', ...inner];
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return inner;
  return [node.callee.value ?? node.callee.object?.value ?? '', ...inner];
}
