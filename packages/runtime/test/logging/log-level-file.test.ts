import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { waitUntil } from '@rms/testkit';

const fixture = fileURLToPath(new URL('fixtures/logging.mjs', import.meta.url));

describe('LOG_LEVEL_FILE', () => {
  let folder: string;
  let child: ReturnType<typeof spawn> | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rms-level-'));
  });
  afterEach(async () => {
    if (child) {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    }
    rmSync(folder, { recursive: true });
  });

  /** Starts the fixture at level info. */
  const start = (file: string) => {
    let out = '';
    child = spawn(process.execPath, [fixture, 'at-once', file], { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout?.on('data', (chunk) => {
      out += chunk;
    });
    const count = (text: string) => out.split(text).length - 1;
    /** Waits until more than `others` further lines with that message appear. */
    const comes = async (message: string, others = 5) => {
      const before = count(`"${message}"`);
      await waitUntil(() => count(`"${message}"`) > before + others, { what: `lines "${message}"` });
    };
    /** Waits until five lines with `while_` appear without a line with `message`. */
    const silent = (message: string, while_: string) =>
      waitUntil(
        () => {
          const lines = out.trimEnd().split('\n').slice(-6);
          return lines.filter((line) => line.includes(while_)).length >= 5 && !lines.join().includes(message);
        },
        { what: `no more "${message}"` },
      );
    return { count, comes, silent };
  };

  /** Mounts the file as kubelet does: a link through "..data", which is replaced atomically. */
  const mounted = (level: string, generation: number) => {
    const data = join(folder, `..${generation}`);
    mkdirSync(data);
    writeFileSync(join(data, 'log-level'), level);
    symlinkSync(`..${generation}`, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    if (generation === 1) symlinkSync(join('..data', 'log-level'), join(folder, 'log-level'));
    return join(folder, 'log-level');
  };

  test('changes the level of a running service through the links of a Kubernetes volume', async () => {
    const { comes, silent } = start(mounted('info\n', 1));
    await comes('coarse');
    await silent('"fine"', '"coarse"');
    mounted('DEBUG', 2);
    await comes('fine');
    mounted('', 3);
    await comes('coarse');
    await silent('"fine"', '"coarse"');
  });

  test('an invalid level is logged once and ignored', async () => {
    const { count, comes } = start(mounted('debug', 1));
    await comes('fine');
    mounted('verbose', 2);
    await waitUntil(() => count('contains none of') === 1, { what: 'the warning' });
    // Longer than the polling interval.
    await comes('fine', 600);
    expect(count('contains none of')).toBe(1);
    expect(count('"found":"verbose"')).toBe(1);
  });

  test('a missing file is logged once, and used when it exists', async () => {
    const file = join(folder, 'later');
    const { count, comes } = start(file);
    await comes('coarse', 600);
    expect(count('cannot read LOG_LEVEL_FILE')).toBe(1);
    expect(count('ENOENT')).toBe(1);
    writeFileSync(file, 'debug');
    await comes('fine');
  });
});
