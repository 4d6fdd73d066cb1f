import { RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import { nameViolations } from '../name.ts';

export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  /** If undefined, the limits come from the installation's settings. */
  readonly plan: string | undefined;
  /** When its deletion began; undefined: it is not being deleted. */
  readonly deletionStartedAt?: Date | undefined;
}

/** Creates a workspace. Throws `invalid_request` for an invalid name. */
export function makeWorkspace(name: string): Workspace {
  const details = nameViolations(name);
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return { id: newId('ws'), name, createdAt: new Date(), plan: undefined };
}
