import { dayPartitions } from '@rms/db';

/** Those of the events and of the delivery log. Events come from the bus at most eight days after they were made. */
export const logPartitions = dayPartitions('webhooks', { daysBack: 8, daysAhead: 7 });
