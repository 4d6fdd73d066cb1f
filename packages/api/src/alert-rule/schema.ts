import { alertKinds } from '@rms/base/alert-rules';
import { z } from 'zod';
import { seconds, shownTime, text } from '../field-schemas.ts';
import { listOf } from '../list.ts';

const kind = z.enum(alertKinds);
const maxAddressLength = 254;
const addresses = z.array(z.string().min(1).max(maxAddressLength));

const fields = {
  enabled: z.boolean().describe('A disabled rule opens no incidents.'),
  threshold: z
    .number()
    .min(0)
    .max(1_000_000)
    .nullable()
    .describe(
      '`api_error_rate`, `delivery_failure_rate`: a share of at most 1. `quota`: the share that causes a warning. ' +
        '`delivery_failures_in_a_row`: attempts. `rate_limited`: rejected requests. `key_expiry`: days before the ' +
        'expiry. Null: `webhook_disabled` has none.',
    )
    .meta({ examples: [0.8] }),
  window: seconds(60, 86_400)
    .nullable()
    .describe('Seconds that are evaluated, in whole minutes. Null: the kind has no window.')
    .meta({ examples: [300] }),
  minimum: z
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .describe('Requests or attempts in the window that a share requires. Null: the kind has no minimum.')
    .meta({ examples: [50] }),
  recipients: addresses
    .max(20)
    .describe('Email addresses. Those that are not of members receive alerts after they have confirmed.')
    .meta({ examples: [['ops@example.com']] }),
  to_owners: z.boolean().describe('Whether the owners of the workspace are also recipients.'),
  channels: z.array(text(1, 64)).max(10).describe('IDs of alert channels that also report the incidents.'),
  unsubscribed: addresses
    .max(1_000)
    .describe('Addresses that have unsubscribed from this rule. Only a recipient can subscribe again.'),
};

const alertRule = z
  .strictObject({
    kind,
    type: z.literal('alert_rule'),
    ...fields,
    unconfirmed: addresses.describe('Recipients that have not confirmed. They receive nothing until they do.'),
    updated_at: shownTime.nullable().describe('Null: the rule has the defaults.'),
  })
  .meta({ id: 'AlertRule' });

export const oneAlertRule = z.strictObject({ data: alertRule });
export const alertRuleList = listOf(alertRule).meta({ id: 'AlertRuleList' });

export const updateAlertRuleBody = z
  .strictObject(fields)
  .partial()
  .meta({ id: 'UpdateAlertRule', example: { enabled: true, threshold: 0.9 } });

/** Outcome of a test message to an email address. */
export const testEmail = z
  .strictObject({
    address: z.string(),
    state: z.enum(['queued', 'sent', 'failed']).describe('A queued email is attempted again for up to three days.'),
    reply: z.string().nullable().describe('Last reply of the mail server, or last error. Null: no attempt has ended.'),
  })
  .meta({ id: 'TestEmail' });

export const oneRuleTest = z.strictObject({
  data: z
    .strictObject({
      addresses: z.array(z.string()).describe('Recipients of the test.'),
      emails: z.array(testEmail).describe('Empty if this installation sends no emails.'),
    })
    .meta({ id: 'AlertRuleTest' }),
});

/** Condition and recipients of an alert. */
export type AlertRule = z.infer<typeof alertRule>;

/** Result of a rule test. */
export type AlertRuleTest = z.infer<typeof oneRuleTest>['data'];
