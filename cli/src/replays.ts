import type { Replay, ReplayEstimate } from '@rms/api';
import { replayDocument } from '@rms/api/replay/document';
import { type Environment, fromEnvironmentMessage } from '@rms/base/tenant';
import type { Replay as ReplayMessage } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';

/** Returns a replay with its environment. */
export function shownReplay(replay: ReplayMessage): Replay & { readonly environment: Environment } {
  return { environment: fromEnvironmentMessage(replay.environment), ...replayDocument(replay) };
}

/** Formats a replay's progress: "rpl_… is running: 40 of 120 redelivered", or without the number of deliveries. */
export function replayText({ id, status, sent, matching }: Replay): string {
  return `${id} is ${status}: ${sent}${matching === null ? '' : ` of ${matching}`} redelivered`;
}

/** Formats an estimate: "120 deliveries would be redelivered in 1.2 s". */
export function estimateText({
  matching,
  matching_is_minimum: isMinimum,
  estimated_seconds: seconds,
}: ReplayEstimate): string {
  const least = isMinimum ? 'at least ' : '';
  return `${least}${matching} deliveries would be redelivered in ${least}${seconds} s`;
}
