import { type Attributes, attribute, isTracing, type Step, spanKind } from '@rms/async/tracing';

/** What pg accepts as a statement, as far as this service uses it. */
export type Statement = string | { readonly text: string; readonly name?: string };

/** Maximum length of a statement in a span. Values are parameters and are not recorded. */
const textLimit = 1_000;
/** Maximum number of cached steps. Bounds memory for statements whose text is built dynamically. */
const stepsKept = 500;
/** Statements that are too cheap to get a span. */
const silent = /^\s*(?:begin|rollback|set|listen)\b/i;

/**
 * Creates a function that describes the span of a statement; it returns undefined for a statement without a span.
 * Returns undefined if this process does not trace.
 * @param url database URL; its host, port and name become span attributes
 */
export function createStatementSteps(url: string): ((statement: Statement) => Step | undefined) | undefined {
  if (!isTracing()) return undefined;
  const where = { [attribute.dbSystem]: 'postgresql', ...serverOf(url) };
  const steps = new Map<string, Step>();
  return (statement) => {
    const { text, name }: { text: string; name?: string } =
      typeof statement === 'string' ? { text: statement } : statement;
    if (silent.test(text)) return undefined;
    const known = steps.get(text);
    if (known) return known;
    const query = text.replaceAll(/\s+/g, ' ').trim();
    const [operation = ''] = query.split(' ', 1);
    const summary = name ?? operation;
    const attributes = { ...where, [attribute.dbSummary]: summary, [attribute.dbQuery]: query.slice(0, textLimit) };
    const step = { name: summary, kind: spanKind.client, attributes };
    if (steps.size >= stepsKept) steps.clear();
    steps.set(text, step);
    return step;
  };
}

function serverOf(url: string): Attributes {
  // PostgreSQL accepts connection URLs that the URL class cannot parse: several hosts, sockets.
  if (!URL.canParse(url)) return {};
  const { hostname, port, pathname } = new URL(url);
  return {
    [attribute.dbNamespace]: pathname.slice(1),
    [attribute.serverAddress]: hostname,
    [attribute.serverPort]: port === '' ? 5432 : Number(port),
  };
}
