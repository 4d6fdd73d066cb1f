import { type Attributes, attribute, isTracing, type Step, spanKind, traced } from '@rms/async/tracing';
import type { Pool } from './queryable.ts';

type Query = (...given: unknown[]) => Promise<unknown>;
type Statement = string | { readonly text?: string; readonly name?: string; readonly submit?: unknown };

/** Maximum length of a statement in a span. Values are parameters and are not recorded. */
const textLimit = 1_000;
/** Maximum number of cached steps. Bounds memory for statements with dynamic text. */
const stepsKept = 500;
/** Statements that are too cheap to get a span. */
const silent = /^\s*(?:begin|rollback|set|listen)\b/i;

/**
 * Wraps a pool so that each statement becomes a span in the current trace. Without tracing, the pool is unchanged.
 * @param url database URL; its host, port and name become span attributes
 */
export function traceQueries(pool: Pool, url: string): void {
  if (!isTracing()) return;
  const stepOf = createSteps(url);
  const wrap = (query: Query): Query => {
    return (...given) => {
      const [statement] = given as [Statement];
      // pool.query calls the client's query with a callback; an object with `submit` is not a plain statement.
      const isOurs = typeof given.at(-1) !== 'function' && (typeof statement === 'string' || !statement.submit);
      const text = typeof statement === 'string' ? statement : statement.text;
      if (!isOurs || text === undefined || silent.test(text)) return query(...given);
      return traced(
        () => stepOf(typeof statement === 'string' ? undefined : statement.name, text),
        () => query(...given),
      );
    };
  };
  const traceable = (one: unknown) => one as { query: Query };
  traceable(pool).query = wrap(traceable(pool).query.bind(pool));
  pool.on('connect', (client) => {
    traceable(client).query = wrap(traceable(client).query.bind(client));
  });
}

function createSteps(url: string): (name: string | undefined, text: string) => Step {
  const where = { [attribute.dbSystem]: 'postgresql', ...serverOf(url) };
  const steps = new Map<string, Step>();
  return (name, text) => {
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
