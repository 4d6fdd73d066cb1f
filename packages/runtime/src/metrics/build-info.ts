import { readFileSync } from 'node:fs';
import { Gauge, type Registry } from '@prometheus-io/client';

/** Registers a gauge that is always 1, with the release and the Node version as labels. */
export function showBuild(metrics: Registry): void {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  new Gauge({
    name: 'rms_build_info',
    help: 'Always 1; the labels contain the release and the Node version.',
    labelNames: ['version', 'node'],
    registers: [metrics],
  }).set({ version, node: process.versions.node }, 1);
}
