import { readFileSync } from 'node:fs';
import { Gauge, type Registry } from 'prom-client';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** Shows which release runs, and on which Node, as labels of a gauge that is always 1. */
export function showBuild(metrics: Registry): void {
  new Gauge({
    name: 'rms_build_info',
    help: 'Always 1; the labels say which release runs, and on which Node.',
    labelNames: ['version', 'node'],
    registers: [metrics],
  }).set({ version, node: process.versions.node }, 1);
}
