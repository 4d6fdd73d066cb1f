import { write as writeCallback, writeSync } from 'node:fs';

/** Destination of a logger. Receives one whole line per call. */
export interface LineStream {
  write(line: string): void;
  /** Writes the buffered lines synchronously, if possible. */
  flushSync(): void;
}

export interface LineStreamOptions {
  /** Default: stdout. */
  readonly fd?: number;
  /** Time that lines are buffered; 0: each line is written immediately. */
  readonly gatherMs: number;
}

/** Number of buffered characters that triggers a write. */
const gatherLength = 8 * 1024;
/** Bounds the memory of unread lines: further lines are dropped and counted. */
const maxBacklog = 16 * 1024 * 1024;
const retryMs = 20;
/** Number of attempts to write to a slow reader when the process exits. */
const lastTries = 50;
const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Opens a stream of lines to a pipe, a file or a terminal. Lines are buffered while the reader is slow. If the reader
 * has closed the pipe (EPIPE) or writing fails for another reason, all further lines are discarded, because a service
 * must be able to exit without a reader.
 *
 * A process with pino's own destination (sonic-boom) cannot exit without a reader: on EAGAIN its `flushSync` and its
 * synchronous writes retry without a limit, so a process with full non-blocking stdout ignores SIGTERM. The test
 * "ends although the reader has stopped reading" shows it. On errors other than EPIPE sonic-boom emits `error` instead
 * of discarding lines.
 */
export function openLineStream({ fd = 1, gatherMs }: LineStreamOptions): LineStream {
  let gathered = '';
  /** Bytes of the write in progress. */
  let pending: Buffer | undefined;
  let writing = false;
  let timer: NodeJS.Timeout | undefined;
  let dropped = 0;
  let closed = false;

  const giveUp = () => {
    closed = true;
    gathered = '';
    pending = undefined;
    clearTimeout(timer);
    timer = undefined;
  };
  /** Returns the next bytes to write. */
  const next = (): Buffer | undefined => {
    if (!pending && gathered !== '') {
      pending = Buffer.from(gathered);
      gathered = '';
      if (dropped > 0) {
        gathered = `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), dropped, msg: 'log lines dropped: the reader of stdout is too slow' })}\n`;
        dropped = 0;
      }
    }
    return pending;
  };
  const wrote = (bytes: number) => {
    pending = pending && bytes < pending.length ? pending.subarray(bytes) : undefined;
  };
  const later = (delayMs: number) => {
    timer ??= setTimeout(() => {
      timer = undefined;
      begin();
    }, delayMs).unref();
  };

  const begin = () => {
    const bytes = writing || closed ? undefined : next();
    if (!bytes) return;
    writing = true;
    writeCallback(fd, bytes, (error, written) => {
      writing = false;
      if (closed) return;
      if (error) {
        if (!isBusy(error)) return giveUp();
        return later(retryMs);
      }
      if (pending === bytes) wrote(written);
      if (pending || gathered.length >= gatherLength) begin();
      else if (gathered !== '') later(gatherMs);
    });
  };
  const flushSync = () => {
    // Bytes of a running write would be written twice, so only the lines buffered after them are written.
    if (writing) pending = undefined;
    let tries = lastTries;
    for (let bytes = next(); bytes && !closed; bytes = next()) {
      try {
        wrote(writeSync(fd, bytes));
      } catch (error) {
        if (!isBusy(error) || --tries === 0) return giveUp();
        Atomics.wait(pause, 0, 0, retryMs);
      }
    }
  };
  const writeNow = () => {
    try {
      for (let bytes = next(); bytes; bytes = next()) wrote(writeSync(fd, bytes));
    } catch (error) {
      if (isBusy(error)) later(retryMs);
      else giveUp();
    }
  };
  process.once('exit', flushSync);

  return {
    write(line) {
      if (closed) return;
      if (gathered.length > maxBacklog) {
        dropped += 1;
        return;
      }
      gathered += line;
      if (gatherMs === 0) {
        if (!timer && !writing) writeNow();
      } else if (gathered.length >= gatherLength) begin();
      else if (!writing) later(gatherMs);
    },
    flushSync,
  };
}

const streams = new Map<number, LineStream>();

/** Returns the process-wide stdout stream with this buffering time. */
export function stdoutStream(gatherMs: number): LineStream {
  const stream = streams.get(gatherMs) ?? openLineStream({ gatherMs });
  streams.set(gatherMs, stream);
  return stream;
}

/** Returns whether a non-blocking pipe is full. */
function isBusy(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EAGAIN' || code === 'EBUSY';
}
