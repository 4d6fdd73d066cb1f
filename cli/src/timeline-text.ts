import type { Timeline } from '@rms/api';
import { fields } from './print.ts';

/** Formats a request's timeline: its IDs, and a line per step. */
export function timelineText({ request_id: id, trace_ids: traceIds, steps }: Timeline): string {
  const head = fields([['request', id], ...traceIds.map((trace): [string, string] => ['trace', trace])]);
  return [head, steps.map(({ at, text }) => `${at}  ${text}`).join('\n')].join('\n\n');
}
