/** The epoch of the feeds: it rises when the database has gone back, or has lost an unknown number of events. */
export const currentEpoch = '(select epoch from webhooks.feed_epoch where single)';

/** By how much positions rise per epoch, so that a reader with a position of the lost state sees a gap. */
const positionsPerEpoch = 1_000_000;

/** SQL of the current `last_position` of a feed, whose row may be of an earlier epoch. */
export const feedEnd = (feed: string) =>
  `(${feed}.last_position + ${positionsPerEpoch} * (${currentEpoch} - ${feed}.epoch)::bigint)`;

/**
 * SQL of the `last_position` of a feed that is created. The feed of a workspace that existed before the epoch may have had
 * events that were lost.
 */
export const newFeedEnd = (workspaceId: string) =>
  `(select case when ${workspaceId} >= webhooks.first_id('ws', began_at) then 0 else ${positionsPerEpoch} * epoch::bigint end
            from webhooks.feed_epoch where single)`;
