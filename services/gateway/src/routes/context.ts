import { RmsError } from '@rms/errors';
import { type IdPrefix, isId } from '@rms/ids';
import type { Call } from '../endpoint.ts';

/** What goes with an item of a batch, or in the metadata of a call. */
export function contextOf({ requestId, principal }: Call<unknown, unknown>) {
  return { requestId, principal };
}

/** The call's id. One that can't be an id is answered with 404 without a look-up. */
export function idOf({ id }: Call<unknown, unknown>, prefix: IdPrefix): string {
  if (!isId(prefix, id)) throw new RmsError('not_found');
  return id;
}
