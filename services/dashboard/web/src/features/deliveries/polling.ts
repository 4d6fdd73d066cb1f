import type { Delivery, Replay } from '@rms/api';

const deliveryMs = 2_000;
const replayMs = 500;

/**
 * Returns the polling interval of a delivery; false after it ends. A redelivery reloads all queries, which starts
 * the polling again. `delivery`: undefined while it loads.
 */
export function deliveryPollMs(delivery: Pick<Delivery, 'status'> | undefined): number | false {
  const mayChange = !delivery || delivery.status === 'pending' || delivery.status === 'retrying';
  return mayChange && deliveryMs;
}

/** Returns the polling interval of a replay; false after it ends. `replay`: undefined while it loads. */
export function replayPollMs(replay: Pick<Replay, 'status'> | undefined): number | false {
  return (!replay || replay.status === 'running') && replayMs;
}
