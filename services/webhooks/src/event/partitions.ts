import { dayPartitions } from '@rms/postgres/db';

/**
 * Daily partitions of the events and of the delivery log. Events usually arrive at most eight days after their creation;
 * the partitions of older ones are created when they arrive.
 */
export const logPartitions = dayPartitions('webhooks', { daysBack: 8, daysAhead: 7 });
