import type { Command } from 'commander';
import { certificatesRemoveCommand } from './certificates-remove.ts';
import { certificatesRenewCommand } from './certificates-renew.ts';

export function define(certificates: Command): void {
  certificates.addCommand(certificatesRenewCommand());
  certificates.addCommand(certificatesRemoveCommand());
}
