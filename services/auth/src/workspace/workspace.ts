import { RmsError } from '@rms/errors';
import { newId } from '@rms/ids';

export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly createdAt: Date;
}

const nameLimit = 100;

/** A new workspace. Throws `invalid_request` for a bad name. */
export function makeWorkspace(name: string): Workspace {
  const length = [...name].length;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (length < 1 || length > nameLimit || /[\u0000-\u001f\u007f]/.test(name)) {
    const message = `must have 1 to ${nameLimit} characters, none of them a control character`;
    throw new RmsError('invalid_request', { details: [{ field: 'name', message }] });
  }
  return { id: newId('ws'), name, createdAt: new Date() };
}
