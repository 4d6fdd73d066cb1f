import { Nouns } from './generated/operations.ts';
import { type RmsOptions, Transport } from './transport.ts';

/**
 * An API client for one workspace and environment, with the operations by noun: `rms.resources.create(…)`. It may be
 * shared, and need not be closed. The constructor throws a TypeError if an option is malformed.
 */
export class Rms extends Nouns {
  constructor(options: RmsOptions) {
    super(new Transport(options));
  }
}
