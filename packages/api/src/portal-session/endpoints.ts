import { RmsError } from '@rms/base/errors';
import { z } from 'zod';
import { portalOf } from '../backend.ts';
import { defineEndpoint, oneJson, replayedHeader } from '../endpoint.ts';
import { seconds, shownTime, text } from '../field-schemas.ts';
import { presentTimeOf, toDuration } from '../times.ts';

const defaultLifetimeSeconds = 3_600;
/** Characters of a logo, which is stored with each session. */
const maxLogoLength = 8_192;
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

const returnUrl = text(1, 2_048)
  .refine(isReturnUrl, 'must be an HTTPS URL, or an HTTP URL of localhost')
  .meta({ format: 'uri', examples: ['https://app.example.com/settings'] });

const theme = z
  .strictObject({
    mode: z
      .enum(['light', 'dark', 'auto'])
      .optional()
      .describe('`auto`: as the browser prefers.')
      .meta({ override: { default: 'auto' } }),
    primary_color: z
      .string()
      .regex(/^#[0-9a-fA-F]{6}$/, 'must be a color like #4f46e5')
      .optional()
      .describe('Color of buttons and links. Text colors are adjusted, so that they stay readable.'),
    logo_url: z
      .string()
      .max(maxLogoLength)
      .regex(/^data:image\/(?:png|jpeg|webp|svg\+xml);base64,[A-Za-z0-9+/]+={0,2}$/, {
        error: 'must be a data: URL of a PNG, JPEG, WebP or SVG image in base64',
      })
      .optional()
      .describe('Logo as a data: URL, because the pages load nothing from other origins.'),
  })
  .meta({ id: 'PortalTheme' });

const createPortalSessionBody = z
  .strictObject({
    expires_in: seconds(1, 86_400)
      .optional()
      .describe('Seconds until the link and the session end.')
      .meta({ override: { default: defaultLifetimeSeconds } }),
    return_url: returnUrl.optional().describe('Target of a link back to your application.'),
    theme: theme.optional(),
  })
  .meta({
    id: 'CreatePortalSession',
    example: { return_url: 'https://app.example.com/settings', theme: { mode: 'light', primary_color: '#0f766e' } },
  });

const onePortalSession = z.strictObject({
  data: z
    .strictObject({
      url: z
        .string()
        .describe('Opens the portal once. Do not log it.')
        .meta({
          format: 'uri',
          examples: ['https://dashboard.example.com/portal#vRyXkq0mN3pT8wZbL5cJ7dFhG2sA9uEiOe4Ky6Qx1nM'],
        }),
      expires_at: shownTime.describe('End of the link and of the session.'),
    })
    .meta({ id: 'PortalSession' }),
});

function isReturnUrl(value: string): boolean {
  const url = URL.parse(value);
  if (url?.username !== '' || url.password !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback.has(url.hostname));
}

const createPortalSession = defineEndpoint({
  method: 'post',
  path: '/v1/portal_sessions',
  operationId: 'createPortalSession',
  summary: 'Create a portal session',
  description:
    'Returns a link that opens the webhook and delivery pages of this workspace and environment, and nothing else, ' +
    'without an account. The session has no permission that the key lacks, and ends with the key.',
  tag: 'Portal',
  permission: 'webhooks:write',
  idempotent: true,
  optionalBody: true,
  body: createPortalSessionBody,
  success: { status: 201, description: 'The link.', schema: onePortalSession },
  async handle({ context, body, tenant, idempotencyKey, backend }) {
    const { sessions, dashboardUrl } = portalOf(backend);
    if (dashboardUrl === undefined) {
      const message =
        'The installation has no public URL of the dashboard, which serves the portal. Set DASHBOARD_URL.';
      throw new RmsError('conflict', { message });
    }
    const { workspaceId, environment } = tenant;
    const { mode = 'auto', primary_color: primaryColor = '', logo_url: logoUrl = '' } = body.theme ?? {};
    const { linkToken, endTime, replayed } = await sessions.createPortalSession(
      {
        workspaceId,
        environment,
        lifetime: toDuration(body.expires_in ?? defaultLifetimeSeconds),
        returnUrl: body.return_url ?? '',
        theme: { mode, primaryColor, logoUrl },
        idempotencyKey,
      },
      { context: context() },
    );
    // The token is in the fragment, which browsers send to no server.
    const document = { url: `${dashboardUrl}/portal#${linkToken}`, expires_at: presentTimeOf(endTime) };
    return { status: 201, json: oneJson(JSON.stringify(document)), headers: replayedHeader(replayed) };
  },
});

export const portalSessionEndpoints = [createPortalSession];
