import { abortableDelay } from '@rms/async';
import { isRefusal } from '@rms/postgres/db';
import {
  postponeUnrecorded,
  type Recorder,
  type RecorderParts,
  type Recording,
  recordAttempts,
} from '../../src/engine/record/recorder.ts';

/**
 * A reference for `createRecorder`: it writes one result after another, each in its own statement, and repeats it until
 * PostgreSQL stores or rejects it.
 */
export function createNaiveRecorder({ pool, counters, onFreed }: RecorderParts): Recorder {
  const stopped = new AbortController();
  const failing = new Set<Recording>();
  let last: Promise<void> = Promise.resolve();

  const write = async (recording: Recording): Promise<void> => {
    const { freed, notEnded } = await recordAttempts(pool, [recording]);
    const { settlement } = recording;
    const isCounted = settlement.status !== 'failed' || !notEnded.has(recording.job.id);
    const counted: Recording = isCounted
      ? recording
      : { ...recording, settlement: { status: 'pending', dueInMs: undefined } };
    for (const counter of counters) counter.count([counted]);
    if (freed.length > 0) onFreed(freed);
  };

  const writeUntilDone = async (recording: Recording): Promise<void> => {
    for (;;) {
      try {
        return await write(recording);
      } catch (error) {
        if (isRefusal(error)) {
          await postponeUnrecorded(pool, recording);
          throw error;
        }
        if (stopped.signal.aborted) throw error;
        failing.add(recording);
        await abortableDelay(10, stopped.signal);
      }
    }
  };

  return {
    async record(recording) {
      const own = last.then(() => writeUntilDone(recording)).finally(() => failing.delete(recording));
      last = own.catch(() => {});
      await own;
    },
    behind: () => failing.size > 0,
    waiting: () => failing.size,
    caughtUp: () => (stopped.signal.aborted ? Promise.resolve() : last),
    stop: () => stopped.abort(),
  };
}
