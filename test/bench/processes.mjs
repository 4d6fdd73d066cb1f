import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100; // USER_HZ, which /proc always reports in

/** The fields of /proc/PID/stat after the name, or undefined if the process is gone. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** A process and all its descendants that live now. */
export function tree(pid) {
  const children = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = Number(statOf(name)?.[1]);
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(Number(name));
  }
  const found = [pid];
  for (const one of found) found.push(...(children.get(one) ?? []));
  return found;
}

/** CPU-seconds that a process, its living descendants and those that it has already waited for have used. */
export function cpuSeconds(pid) {
  let ticks = 0;
  for (const one of tree(pid)) {
    const stat = statOf(one);
    if (!stat) continue;
    ticks += Number(stat[11]) + Number(stat[12]);
    // Descendants that ended count in their parent.
    ticks += Number(stat[13]) + Number(stat[14]);
  }
  return ticks / ticksPerSecond;
}

/** Proportional set size of a process and its descendants in MB: shared pages are counted once. */
export function memoryMb(pid) {
  let kilobytes = 0;
  for (const one of tree(pid)) {
    try {
      const text = readFileSync(`/proc/${one}/smaps_rollup`, 'utf8');
      kilobytes += Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0);
    } catch {
      // It has ended meanwhile.
    }
  }
  return kilobytes / 1024;
}

/** Measures what each named process uses while `work` runs: `{ result, seconds, cpu: {name: CPU-seconds} }`. */
export async function measure(pids, work) {
  const snapshot = () => Object.fromEntries(Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)]));
  const before = snapshot();
  const startedAtMs = performance.now();
  const result = await work();
  const seconds = (performance.now() - startedAtMs) / 1_000;
  const after = snapshot();
  const cpu = Object.fromEntries(Object.keys(pids).map((name) => [name, after[name] - before[name]]));
  return { result, seconds, cpu };
}

/** The sum of the values of an object. */
export function sum(values) {
  return Object.values(values).reduce((total, value) => total + value, 0);
}

/** The median of numbers. */
export function median(numbers) {
  return quantile(numbers, 0.5);
}

/** A quantile of numbers, by the nearest rank. */
export function quantile(numbers, q) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}
