import { roles } from '@rms/base/roles';
import { z } from 'zod';
import { shownTime } from '../field-schemas.ts';
import { listOf } from '../list.ts';

export const role = z.enum(roles).describe('Each role includes the permissions of the previous one.');

/** An email address of a user. */
export const shownEmail = z.string().meta({ examples: ['ann@example.com'] });

const member = z
  .strictObject({
    id: z.string().meta({ pattern: '^usr_[0-9a-z]+$', examples: ['usr_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    type: z.literal('member'),
    email: shownEmail,
    name: z.string().describe('Empty if the user has not set one.'),
    role,
    has_second_factor: z.boolean(),
    disabled: z.boolean().describe('A disabled user cannot sign in.'),
    last_sign_in_at: shownTime.nullable(),
    created_at: shownTime.describe('Time at which the user joined the workspace.'),
  })
  .meta({ id: 'Member' });

export const oneMember = z.strictObject({ data: member });
export const memberList = listOf(member).meta({ id: 'MemberList' });

export const updateMemberBody = z.strictObject({ role }).meta({ id: 'UpdateMember', example: { role: 'developer' } });

/** A user with a role in the workspace. */
export type Member = z.infer<typeof member>;
