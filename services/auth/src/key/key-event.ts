import { create } from '@bufbuild/protobuf';
import { keyDocument } from '@rms/api/key/document';
import type { Queryable } from '@rms/postgres/db';
import { type EventOrigin, type NewOperationalEvent, queueEvents } from '@rms/postgres/operational-events';
import { KeySchema } from '@rms/proto/rms/auth/v1/key_pb';
import type { StoredKey } from './key.ts';
import { toKeyMessages } from './key-message.ts';

/** Queues an event per changed key, with the key as GET returns it after the change. */
export async function queueKeyEvents(
  tx: Queryable,
  type: Extract<NewOperationalEvent['type'], `api_key.${string}`>,
  keys: readonly StoredKey[],
  origin: EventOrigin,
): Promise<void> {
  const messages = await toKeyMessages(tx, keys);
  const events = keys.map(({ workspaceId, environment, id: subjectId, version }, i) => {
    const object = { ...keyDocument(create(KeySchema, messages[i])), version };
    return { type, workspaceId, environment, subjectId, object, origin };
  });
  await queueEvents(tx, 'auth', events);
}
