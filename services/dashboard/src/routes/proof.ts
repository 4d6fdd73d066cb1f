import { z } from 'zod';

/** Proof that the user is present: the current password, or a second factor code if the account has one. */
export const proofBody = { password: z.string().max(1_000), code: z.string().max(100) };
