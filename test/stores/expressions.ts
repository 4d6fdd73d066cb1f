import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const files = fileURLToPath(new URL('../../deploy/helm/rms/files/', import.meta.url));

/** A rule's or a dashboard's query. */
export interface Expression {
  /** Source of the query, for messages. */
  readonly from: string;
  readonly text: string;
}

/** A metric that a query reads. */
export interface Selector {
  readonly name: string;
  /** Labels that the query filters on. */
  readonly labels: readonly string[];
}

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

/** Returns all queries of the alert and recording rules. */
export function ruleExpressions(): Expression[] {
  return filesIn('rules').flatMap(({ name, text }) =>
    [...text.matchAll(/^ {8}expr: >-\n((?: {10}.*\n)+)/gm)].map(([, expr = '']) => ({ from: name, text: expr })),
  );
}

/** Returns all queries of the dashboards. */
export function dashboardExpressions(): Expression[] {
  return filesIn('dashboards').flatMap(({ name, text }) =>
    (JSON.parse(text) as Dashboard).panels.flatMap(({ title, targets }) =>
      targets.map(({ expr }) => ({ from: `${name}, ${title}`, text: expr })),
    ),
  );
}

/** Returns the metrics in a query. Names of recording rules contain colons and do not count. */
export function selectorsOf(text: string): Selector[] {
  const named = /(?<![\w:$])((?:rms|nodejs|process)_\w+)(?![\w:(])(?:\{([^}]*)\})?/g;
  return [...text.matchAll(named)].map(([, name = '', matchers = '']) => ({
    name,
    labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = '']) => label),
  }));
}

/** Returns the labels that a query groups by. */
export function groupingsOf(text: string): string[] {
  return [...text.matchAll(/\b(?:by|on|without|ignoring) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((label) => label.trim()),
  );
}

function filesIn(folder: string): { name: string; text: string }[] {
  return readdirSync(join(files, folder)).map((name) => ({
    name: `${folder}/${name}`,
    text: readFileSync(join(files, folder, name), 'utf8'),
  }));
}
