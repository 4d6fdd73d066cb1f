import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { followSecret, readSettings } from '@rms/runtime/settings';

describe('followSecret', () => {
  let folder: string;
  let file: string;
  let lines: string[];
  const log = {
    info: (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message })),
    error: (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message })),
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'rms-follow-'));
    file = join(folder, 'secret');
    lines = [];
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('returns the current content of the file, also from a copy of the settings', () => {
    writeFileSync(file, 'first\n');
    const settings = { ...readSettings({ KAFKA_SASL_PASSWORD_FILE: file }), PORT: 1 };
    const current = followSecret(settings, 'KAFKA_SASL_PASSWORD');
    expect(current(log)).toBe('first');
    writeFileSync(file, 'second\n');
    expect(current(log)).toBe('second');
    expect(current(log)).toBe('second');
    expect(lines).toEqual([
      JSON.stringify({ setting: 'KAFKA_SASL_PASSWORD_FILE', message: 'setting reloaded from its file' }),
    ]);
  });

  test('keeps the previous value while the file is missing, empty, invalid or unusable, and logs the reason once', () => {
    writeFileSync(file, 'redis://:hidden-1@first');
    const check = (url: string) => {
      if (url.endsWith('unusable')) throw new Error('it is unusable');
    };
    const current = followSecret(readSettings({ REDIS_URL_FILE: file }), 'REDIS_URL', { check });
    for (const content of [undefined, '', '\n', 'http://:hidden-2@other', 'redis://:hidden-3@unusable']) {
      lines = [];
      if (content === undefined) rmSync(file);
      else writeFileSync(file, content);
      expect(current(log)).toBe('redis://:hidden-1@first');
      expect(current(log)).toBe('redis://:hidden-1@first');
      writeFileSync(file, 'redis://:hidden-1@first');
      current(log);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(
        /cannot be read \(ENOENT\)|is not a URL that starts with redis|it is unusable|the file of REDIS_URL is empty/,
      );
      expect(lines[0]).not.toContain('hidden');
    }
  });

  test('reads at most once per interval, if one is given', () => {
    let nowMs = 0;
    writeFileSync(file, 'first');
    const settings = readSettings({ KAFKA_SASL_PASSWORD_FILE: file });
    const current = followSecret(settings, 'KAFKA_SASL_PASSWORD', { refreshMs: 5_000, nowMs: () => nowMs });
    writeFileSync(file, 'second');
    nowMs = 4_999;
    expect(current(log)).toBe('first');
    nowMs = 5_000;
    expect(current(log)).toBe('second');
  });

  test('a secret from the environment is constant', () => {
    const settings = readSettings({ KAFKA_SASL_PASSWORD: 'given', KAFKA_SASL_PASSWORD_FILE: join(folder, 'nowhere') });
    expect(followSecret(settings, 'KAFKA_SASL_PASSWORD')(log)).toBe('given');
  });
});
