import { write as writeCallback, writeSync } from 'node:fs';

/** Where a logger writes: whole lines, one at a time. */
export interface LineStream {
  write(line: string): void;
  /** Writes what has gathered now, if it can be written. */
  flushSync(): void;
}

export interface LineStreamOptions {
  /** Default: stdout. */
  readonly fd?: number;
  /** For so long lines gather; 0: each is written at once. */
  readonly gatherMs: number;
}

/** So many characters leave at once. */
const gatherLength = 8 * 1024;
/** What nobody reads must not fill the memory: further lines are dropped, and counted. */
const longestBacklog = 16 * 1024 * 1024;
const againMs = 20;
/** At the end of the process a reader that is slow has so long. */
const lastTries = 50;
const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Lines for a pipe, a file or a terminal. If its reader is slow, lines wait; if its reader has gone (EPIPE), or nothing can
 * be written for any other reason, the rest is thrown away: a service must be able to end without anybody who listens.
 */
export function openLineStream({ fd = 1, gatherMs }: LineStreamOptions): LineStream {
  let gathered = '';
  /** Bytes of lines that are being written. */
  let pending: Buffer | undefined;
  let writing = false;
  let timer: NodeJS.Timeout | undefined;
  let dropped = 0;
  let gone = false;

  const giveUp = () => {
    gone = true;
    gathered = '';
    pending = undefined;
    clearTimeout(timer);
    timer = undefined;
  };
  /** The bytes to write next. */
  const next = (): Buffer | undefined => {
    if (!pending && gathered !== '') {
      pending = Buffer.from(gathered);
      gathered = '';
      if (dropped > 0) {
        gathered = `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), dropped, msg: 'log lines were dropped: nobody reads them fast enough' })}\n`;
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
    const bytes = writing || gone ? undefined : next();
    if (!bytes) return;
    writing = true;
    writeCallback(fd, bytes, (error, written) => {
      writing = false;
      if (gone) return;
      if (error) {
        if (!isBusy(error)) return giveUp();
        return later(againMs);
      }
      if (pending === bytes) wrote(written);
      if (pending || gathered.length >= gatherLength) begin();
      else if (gathered !== '') later(gatherMs);
    });
  };
  const flushSync = () => {
    // What is under way would come twice: only what has gathered behind it is written.
    if (writing) pending = undefined;
    let tries = lastTries;
    for (let bytes = next(); bytes && !gone; bytes = next()) {
      try {
        wrote(writeSync(fd, bytes));
      } catch (error) {
        if (!isBusy(error) || --tries === 0) return giveUp();
        Atomics.wait(pause, 0, 0, againMs);
      }
    }
  };
  const writeNow = () => {
    try {
      for (let bytes = next(); bytes; bytes = next()) wrote(writeSync(fd, bytes));
    } catch (error) {
      if (isBusy(error)) later(againMs);
      else giveUp();
    }
  };
  process.once('exit', flushSync);

  return {
    write(line) {
      if (gone) return;
      if (gathered.length > longestBacklog) {
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

/** The one stream of this process for lines on stdout that gather for so long. */
export function stdoutStream(gatherMs: number): LineStream {
  const stream = streams.get(gatherMs) ?? openLineStream({ gatherMs });
  streams.set(gatherMs, stream);
  return stream;
}

/** A pipe that is full, where writing does not wait. */
function isBusy(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EAGAIN' || code === 'EBUSY';
}
