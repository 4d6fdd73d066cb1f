import { z } from 'zod';

/** What an unattended screen does not know: one of both is asked for, which is the account's. */
export const proofBody = { password: z.string().max(1_000), code: z.string().max(100) };
