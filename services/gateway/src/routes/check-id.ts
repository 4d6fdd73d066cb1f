import { RmsError } from '@rms/errors';
import { type IdPrefix, isId } from '@rms/ids';

const nouns: Readonly<Partial<Record<IdPrefix, string>>> = { res: 'resource', wh: 'webhook' };

/** What cannot be an id is not looked up. Throws `not_found`. */
export function checkId(prefix: 'res' | 'wh', id: string): void {
  if (!isId(prefix, id)) throw new RmsError('not_found', { message: `There is no such ${nouns[prefix]}.` });
}
