import type { Kubernetes } from './kubernetes.ts';

const linesKept = 20;
const lineLength = 400;

/**
 * Returns the most recent warnings and errors that the running pods of the release have logged in the last 10 minutes,
 * one per line: pod, time, message and causes. Logs of deleted pods are missing.
 */
export async function warningsOfPods({ kubectl }: Kubernetes): Promise<string> {
  const selection = ['--selector', 'app.kubernetes.io/name=rms', '--prefix', '--max-log-requests', '50'];
  const logs = await kubectl(['logs', ...selection, '--since', '10m', '--tail', '-1', '--ignore-errors']);
  const warnings = logs.split('\n').flatMap((line) => {
    const start = line.indexOf('{');
    if (start < 0 || !/"level":"(warn|error|fatal)"/.test(line)) return [];
    try {
      const { time, msg, err } = JSON.parse(line.slice(start)) as {
        time: string;
        msg: string;
        err?: { stack?: string };
      };
      const causes = err?.stack?.split('\n').filter((text) => !/^\s+at /.test(text));
      return [
        { time, text: [line.slice(0, start).trim(), time, msg, ...(causes ?? [])].join(' ').slice(0, lineLength) },
      ];
    } catch {
      return [];
    }
  });
  return warnings
    .sort((a, b) => (a.time < b.time ? -1 : 1))
    .slice(-linesKept)
    .map(({ text }) => text)
    .join('\n');
}
