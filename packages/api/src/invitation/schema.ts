import { z } from 'zod';
import { shownTime, text } from '../field-schemas.ts';
import { listOf } from '../list.ts';
import { role, shownEmail } from '../member/schema.ts';

const fields = {
  id: z.string().meta({ pattern: '^inv_[0-9a-z]+$', examples: ['inv_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
  type: z.literal('invitation'),
  email: shownEmail,
  role,
  invited_by: z
    .string()
    .describe('`user:` or `key:` with an ID, or `operator:` with a name. Of an API key, the user who created it.')
    .meta({ examples: ['user:usr_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
  created_at: shownTime,
  expires_at: shownTime.describe('7 days after the creation.'),
};

const invitation = z.strictObject(fields).meta({ id: 'Invitation' });

export const oneInvitation = z.strictObject({ data: invitation });
export const invitationList = listOf(invitation).meta({ id: 'InvitationList' });

const createdInvitation = z
  .strictObject({
    ...fields,
    token: z
      .string()
      .optional()
      .describe(
        'The link is the URL of the dashboard, `/invitation#` and this token. Present only if this installation ' +
          'sends no email, and only in the response to the API key that sent the request.',
      ),
  })
  .meta({ id: 'CreatedInvitation' });

export const oneNewInvitation = z.strictObject({ data: createdInvitation });

export const createInvitationBody = z
  .strictObject({ email: text(3, 254).describe('Address of the new member.'), role })
  .meta({ id: 'CreateInvitation', example: { email: 'ann@example.com', role: 'developer' } });

/** An invitation to the workspace. */
export type Invitation = z.infer<typeof invitation>;

/** A new invitation. */
export type CreatedInvitation = z.infer<typeof createdInvitation>;
