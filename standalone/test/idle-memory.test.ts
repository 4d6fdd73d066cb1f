import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const module = new URL('../src/idle-memory.ts', import.meta.url);

/** Fills the heap, drops everything and idles. Prints whether the heap shrank to half its size before a time limit. */
const program = `
  const { freeMemoryWhenIdle } = await import(${JSON.stringify(module.href)});
  freeMemoryWhenIdle();
  let kept = [];
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 60_000; i++) kept.push({ i, text: ['x' + i] });
    if (round % 8 === 7) kept = [];
    await new Promise(setImmediate);
  }
  kept = [];
  const fullBytes = process.memoryUsage().heapTotal;
  const startedAtMs = performance.now();
  setInterval(() => {
    const isFreed = process.memoryUsage().heapTotal < fullBytes / 2;
    if (!isFreed && performance.now() - startedAtMs < 40_000) return;
    console.log(isFreed ? 'freed' : 'kept');
    process.exit();
  }, 100);
`;

test('an idle process returns the memory of a burst to the operating system', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stdout.trim()).toBe('freed');
});
