import type { Command } from 'commander';
import { webhooksClientCertificateCommand } from './webhooks-client-certificate.ts';
import { webhooksCreateCommand } from './webhooks-create.ts';
import { webhooksDeleteCommand } from './webhooks-delete.ts';
import {
  webhooksDisableCommand,
  webhooksEnableCommand,
  webhooksPauseCommand,
  webhooksResumeCommand,
} from './webhooks-enable.ts';
import { webhooksListCommand } from './webhooks-list.ts';
import { webhooksOrderedCommand } from './webhooks-ordered.ts';
import { webhooksRateLimitCommand } from './webhooks-rate-limit.ts';
import { webhooksRetryPolicyCommand } from './webhooks-retry-policy.ts';
import { webhooksRotateSecretCommand } from './webhooks-rotate-secret.ts';
import { webhooksShowCommand } from './webhooks-show.ts';
import { webhooksTestCommand } from './webhooks-test.ts';

export function define(webhooks: Command): void {
  webhooks.addCommand(webhooksListCommand());
  webhooks.addCommand(webhooksShowCommand());
  webhooks.addCommand(webhooksCreateCommand());
  webhooks.addCommand(webhooksRetryPolicyCommand());
  webhooks.addCommand(webhooksRateLimitCommand());
  webhooks.addCommand(webhooksOrderedCommand());
  webhooks.addCommand(webhooksClientCertificateCommand());
  webhooks.addCommand(webhooksRotateSecretCommand());
  webhooks.addCommand(webhooksPauseCommand());
  webhooks.addCommand(webhooksResumeCommand());
  webhooks.addCommand(webhooksEnableCommand());
  webhooks.addCommand(webhooksDisableCommand());
  webhooks.addCommand(webhooksDeleteCommand());
  webhooks.addCommand(webhooksTestCommand());
}
