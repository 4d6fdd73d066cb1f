import { dayPartitions } from '@rms/db';

/** Daily partitions of the events and of the delivery log. Events arrive at most eight days after their creation. */
export const logPartitions = dayPartitions('webhooks', { daysBack: 8, daysAhead: 7 });
