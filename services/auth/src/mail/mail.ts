import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/ids';
import { MailRequestSchema, type MailRequestSchema as Schema } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import type { SecretBox } from '@rms/secrets';

/** A mail to be sent, sealed: it holds tokens. */
export interface SealedMail {
  readonly id: string;
  readonly sealed: Buffer;
  readonly expiresAt: Date;
}

type Content = NonNullable<MessageInitShape<typeof Schema>['content']>;

/** Notices are worth sending for so long. */
export const noticeLifetimeMs = 3 * 24 * 3_600_000;

/**
 * A mail to one person.
 * @param expiresAt not worth sending from then on
 */
export function makeMail(box: SecretBox, to: string, content: Content, expiresAt: Date): SealedMail {
  const id = newId('mlr');
  const message = create(MailRequestSchema, {
    id,
    to,
    createTime: timestampFromDate(new Date()),
    expireTime: timestampFromDate(expiresAt),
    content,
  });
  return { id, sealed: box.seal(toBinary(MailRequestSchema, message), id), expiresAt };
}
