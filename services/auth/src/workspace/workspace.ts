import { RmsError } from '@rms/errors';
import { newId } from '@rms/ids';
import { nameViolations } from '../name.ts';

export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
  /** undefined: the settings of the installation. */
  readonly plan: string | undefined;
}

/** A new workspace. Throws `invalid_request` for a bad name. */
export function makeWorkspace(name: string): Workspace {
  const details = nameViolations(name);
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return { id: newId('ws'), name, createdAt: new Date(), plan: undefined };
}
