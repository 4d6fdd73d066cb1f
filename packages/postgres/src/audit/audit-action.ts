import type { FieldChanges } from './field-changes.ts';

/** Actions that change stored fields. Their entries say which. */
export type ChangeAction =
  | 'workspace.created'
  | 'workspace.plan_set'
  | 'workspace.deleted'
  | 'plan.set'
  | 'plan.deleted'
  | 'key.created'
  | 'key.updated'
  | 'key.rolled'
  | 'key.revoked'
  | 'portal_session.created'
  | 'member.added'
  | 'member.updated'
  | 'member.removed'
  | 'invitation.created'
  | 'invitation.accepted'
  | 'invitation.revoked'
  | 'user.created'
  | 'user.updated'
  | 'user.deleted'
  | 'user.disabled'
  | 'user.enabled'
  | 'user.email_changed'
  | 'user.password_changed'
  | 'user.reset'
  | 'user.identity_linked'
  | 'user.identity_unlinked'
  | 'user.second_factor_enabled'
  | 'user.second_factor_removed'
  | 'user.recovery_codes_renewed'
  | 'webhook.created'
  | 'webhook.updated'
  | 'webhook.disabled'
  | 'webhook.deleted'
  | 'webhook.secret_rotated'
  | 'delivery.canceled'
  | 'replay.canceled'
  | 'resource.created'
  | 'resource.updated'
  | 'resource.deleted'
  | 'alert_rule.updated'
  | 'alert_rule.unsubscribed'
  | 'alert_rule.resubscribed'
  | 'alert_recipient.confirmed'
  | 'alert_channel.created'
  | 'alert_channel.updated'
  | 'alert_channel.deleted'
  | 'incident.acknowledged'
  | 'incident.muted';

/** Actions that change no stored field of their target. */
export type OtherAction =
  | 'workspace.deletion_started'
  | 'secrets.reencryption_started'
  | 'portal_session.opened'
  | 'user.signed_in'
  | 'user.sign_in_failed'
  | 'user.signed_out'
  | 'user.session_ended'
  | 'user.sessions_ended'
  | 'user.password_reset_requested'
  | 'user.email_change_requested'
  | 'webhook.tested'
  | 'dead_letters.replayed'
  | 'deliveries.replayed'
  | 'delivery.redelivered'
  | 'alert_rule.tested'
  | 'alert_channel.tested';

/** Facts about an action that are not fields of the target, such as a sign-in's method. Never contains a secret. */
type Details = Readonly<Record<string, unknown>>;

/** An action with the changes that it made. */
export type AuditedAction =
  | { readonly action: ChangeAction; readonly changes: FieldChanges; readonly details?: Details }
  | { readonly action: OtherAction; readonly changes?: never; readonly details?: Details };
