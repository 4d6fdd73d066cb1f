import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import type { SealContext, SecretBox } from '@rms/base/secrets';
import {
  EmailRequestSchema,
  type EmailRequestSchema as Schema,
} from '@rms/proto/rms/auth/v1/email_requests_service_pb';

/** A queued email. It is encrypted because it may contain a token. */
export interface SealedEmail {
  readonly id: string;
  readonly sealed: Buffer;
  readonly expiresAt: Date;
}

type Content = NonNullable<MessageInitShape<typeof Schema>['content']>;

/** Lifetime of queued security notices. */
export const noticeLifetimeMs = 3 * 24 * 3_600_000;

/** Returns the context that binds a queued email to its ID. */
export function emailContext(id: string): SealContext {
  return { purpose: 'mail request', id };
}

/**
 * Creates an encrypted email to one recipient.
 * @param expiresAt end of sending it
 */
export function makeEmail(box: SecretBox, to: string, content: Content, expiresAt: Date): SealedEmail {
  const id = newId('mlr');
  const message = create(EmailRequestSchema, {
    id,
    to,
    createTime: timestampFromDate(new Date()),
    expireTime: timestampFromDate(expiresAt),
    content,
  });
  return { id, sealed: box.seal(toBinary(EmailRequestSchema, message), emailContext(id)), expiresAt };
}
