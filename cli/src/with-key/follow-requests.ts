import { abortableDelay } from '@rms/async';
import { newId } from '@rms/base/ids';
import { note } from '../print.ts';
import { readPages, withQuery } from './lists.ts';
import type { Profile } from './profiles.ts';
import { createRetry, pollMs } from './retry.ts';
import { environmentOf } from './target.ts';

/** A logged request. Commands print it as the API returns it. */
export interface LoggedRequest {
  readonly request_id: string;
  readonly started_at: string;
  readonly duration_ms: number;
}

/**
 * A request is recorded about a second after its end. The API ends every request earlier than this after its start.
 */
const lateMs = 30_000;
/** Number of polls per sweep. A sweep reads all requests of the last {@link lateMs}, so that none is missed. */
const pollsPerSweep = 10;
const maxPagesPerPoll = 100;

/**
 * Yields a list's requests as they are recorded, each once, until the signal aborts: those that start after the call,
 * or after `created_after` in the query of `path`. The requests of this function itself are not yielded. While the API
 * is unreachable, overloaded or limits the key, prints one note, retries, and continues without a gap. Rejects if the
 * first request fails, or if the API refuses a later one.
 *
 * The log is sorted by request start, so a slow request appears between earlier ones. A poll reads from the newest
 * request to the first page without a new one; every tenth poll is a sweep.
 */
export async function* followRequests(
  target: Profile,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<LoggedRequest, void, undefined> {
  const ownId = newId('req');
  const read = (query: Readonly<Record<string, string>>, perPage?: number) =>
    readPages<LoggedRequest>(target, withQuery(path, query), perPage, { headers: { 'x-request-id': ownId }, signal });
  const first = await read({}, 1).next();
  const after = new URLSearchParams(path.split('?')[1]).get('created_after');
  let fromMs = after === null ? (first.value?.atMs ?? Date.now()) : Date.parse(after);
  const start = new Date(fromMs).toISOString();
  note(`following ${environmentOf(target)} requests of ${target.url} after ${start}; press Ctrl-C to stop`);
  /** Start of each request that was yielded and that a poll can read again, by {@link keyOf}. */
  const seen = new Map<string, number>();
  const isNew = (one: LoggedRequest) => one.request_id !== ownId && !seen.has(keyOf(one));
  const retry = createRetry(signal);
  for (let poll = 1; !signal.aborted; poll += 1) {
    const isSweep = poll % pollsPerSweep === 0;
    const found: LoggedRequest[] = [];
    let pages = 0;
    let atMs = 0;
    try {
      for await (const page of read({ created_after: new Date(fromMs).toISOString() })) {
        atMs ||= page.atMs;
        const others = page.document.data.filter(isNew);
        found.push(...others);
        pages += 1;
        if ((others.length === 0 && !isSweep) || pages === maxPagesPerPoll) break;
      }
      retry.succeeded();
    } catch (error) {
      await retry.after(error, `the next request is after ${new Date(fromMs).toISOString()}`);
      // The next sweep is only after the gateways have reported what they recorded during an outage.
      poll = 0;
      continue;
    }
    for (const one of found.reverse()) {
      yield one;
      seen.set(keyOf(one), Date.parse(one.started_at));
    }
    if (pages === maxPagesPerPoll) note('there are more requests than can be followed; select fewer by filters');
    if (isSweep) {
      fromMs = Math.max(fromMs, atMs - lateMs);
      for (const [key, startedAtMs] of seen) if (startedAtMs < fromMs) seen.delete(key);
    }
    await abortableDelay(pollMs, signal);
  }
}

/** Identifies a request. Clients can send the same X-Request-ID more than once. */
function keyOf({ request_id: id, started_at: at, duration_ms: durationMs }: LoggedRequest): string {
  return `${at} ${durationMs} ${id}`;
}
