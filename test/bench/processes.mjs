import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const ticksPerSecond = 100; // USER_HZ, the unit of times in /proc

/** Returns the fields of /proc/PID/stat after the name, or undefined if the process ended. */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** Returns the ids of a process and all its running descendants. */
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

/** Ends all descendants of this process: SIGTERM, and SIGKILL for those that still run after 10 s. */
export async function endDescendants() {
  const startOf = (pid) => statOf(pid)?.[19];
  const descendants = tree(process.pid)
    .slice(1)
    .map((pid) => ({ pid, start: startOf(pid) }));
  // The ID of an ended process may be in use again, by a process that started later.
  const running = () => descendants.filter(({ pid, start }) => startOf(pid) === start && statOf(pid)?.[0] !== 'Z');
  const signal = (name) => {
    for (const { pid } of running()) {
      try {
        process.kill(pid, name);
      } catch {
        // The process has exited.
      }
    }
  };
  signal('SIGTERM');
  const killAtMs = performance.now() + 10_000;
  while (running().length > 0 && performance.now() < killAtMs) await delay(50);
  signal('SIGKILL');
}

/** Returns the CPU-seconds used by a process, its running descendants, and its ended descendants. */
export function cpuSeconds(pid) {
  let ticks = 0;
  for (const one of tree(pid)) {
    const stat = statOf(one);
    if (!stat) continue;
    ticks += Number(stat[11]) + Number(stat[12]);
    // Ended descendants are counted in their parent.
    ticks += Number(stat[13]) + Number(stat[14]);
  }
  return ticks / ticksPerSecond;
}

/** Returns the proportional set size of a process and its descendants in MB: shared pages count once. */
export function memoryMb(pid) {
  let kilobytes = 0;
  for (const one of tree(pid)) {
    try {
      const text = readFileSync(`/proc/${one}/smaps_rollup`, 'utf8');
      kilobytes += Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0);
    } catch {
      // The process has exited.
    }
  }
  return kilobytes / 1024;
}

/** Returns the memory of each process of a tree in MB. PostgreSQL processes are named by role, sessions "backend". */
export function memoryByProcess(pid) {
  return tree(pid).flatMap((one) => {
    try {
      const text = readFileSync(`/proc/${one}/smaps_rollup`, 'utf8');
      const mb = (field) => Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0) / 1024;
      return [{ name: nameOf(one), pid: one, rssMb: mb('Rss'), pssMb: mb('Pss') }];
    } catch {
      return [];
    }
  });
}

function nameOf(pid) {
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  const [, title] = /^postgres: (.*)/.exec(command) ?? [];
  if (title === undefined) return /postgres/.test(command.split(' ')[0]) ? 'postmaster' : 'node';
  return /\d\(\d+\)/.test(title) ? 'backend' : title.trim();
}

/** Measures the CPU use of each named process while `work` runs: `{ result, seconds, cpu: {name: CPU-seconds} }`. */
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

export function sum(values) {
  return Object.values(values).reduce((total, value) => total + value, 0);
}

export function median(numbers) {
  return quantile(numbers, 0.5);
}

/** Returns a quantile of numbers, by the nearest rank. */
export function quantile(numbers, q) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}
