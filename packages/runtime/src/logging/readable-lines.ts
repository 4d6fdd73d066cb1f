import type { DestinationStream } from 'pino';

/** Fields to omit after the message: shown at a line's beginning, or the same in every line. */
const shown = new Set(['level', 'time', 'service', 'msg', 'pid', 'hostname']);
const controls = /(?!\n)\p{Cc}|\p{Bidi_Control}/gu;

/**
 * Returns a destination for loggers that writes each JSON line as text for a terminal:
 * "10:15:00 WARN  webhooks: delivery lease release failed count=3". Times are local.
 */
export function readableLines(to: { write(text: string): unknown }): DestinationStream {
  return { write: (line) => void to.write(readableLine(line)) };
}

/** Formats a JSON line of a logger. Returns any other line unchanged. Puts stacks on separate lines. */
export function readableLine(line: string): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line);
  } catch {
    return line;
  }
  const { level, time, service, msg, err, ...fields } = entry;
  const { message, stack, ...details } = (typeof err === 'object' && err !== null ? err : {}) as Record<
    string,
    unknown
  >;
  const at = new Date(String(time));
  const clock = Number.isNaN(at.getTime()) ? '' : `${at.toTimeString().slice(0, 8)} `;
  const rest = Object.entries({ ...fields, ...(message === undefined ? {} : { error: message }), ...details })
    .filter(([name, value]) => !shown.has(name) && value !== undefined)
    .map(
      ([name, value]) => `${name}=${typeof value === 'string' && !/[\s"]/.test(value) ? value : JSON.stringify(value)}`,
    );
  const head = `${clock}${String(level).toUpperCase().padEnd(5)} ${service}: ${[msg, ...rest].join(' ')}`;
  const trace = typeof stack === 'string' ? `\n${stack.split('\n').slice(1).join('\n')}` : '';
  return `${(head + trace).trimEnd().replace(controls, '\ufffd')}\n`;
}
