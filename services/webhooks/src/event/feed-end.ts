/** By how much positions rise per epoch, so that a reader with a position from the lost state sees a gap. */
const positionsPerEpoch = 1_000_000;

/** SQL of the feeds' epoch: it rises when the database has gone back, or an unknown number of events is lost. */
const currentEpoch = '(select epoch from webhooks.feed_epoch where single)';

/** SQL of the `last_position` of a feed in an epoch. Its row may be of an earlier one. */
export const feedEnd = (feed: string, epoch = currentEpoch) =>
  `(${feed}.last_position + ${positionsPerEpoch}::bigint * (${epoch} - ${feed}.epoch))`;

/**
 * SQL of the `last_position` of a feed that is created in an epoch (a row of `webhooks.feed_epoch`). The feed of a
 * workspace that is older than the epoch may have had events that are lost.
 */
export const newFeedEnd = (workspaceId: string, epoch: string) =>
  `case when ${workspaceId} >= ${epoch}.first_workspace then 0 else ${positionsPerEpoch}::bigint * ${epoch}.epoch end`;
