import { createLogger } from '@rms/service';

/** A logger and what it has written, parsed. */
function memoryLogger(level?: string) {
  const lines: string[] = [];
  const log = createLogger({
    name: 'unit',
    ...(level ? { level } : {}),
    destination: { write: (line) => void lines.push(line) },
  });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? 'null') };
}

describe('The logger', () => {
  test('writes one line of JSON with level, time and service', () => {
    const { log, lines, last } = memoryLogger();
    log.info({ request_id: 'req_1' }, 'done');
    expect(lines).toHaveLength(1);
    expect(lines[0]?.endsWith('}\n')).toBe(true);
    expect(last()).toMatchObject({ level: 'info', service: 'unit', request_id: 'req_1', msg: 'done' });
    expect(new Date(last().time).toISOString()).toBe(last().time);
  });

  test('keeps quiet below its level', () => {
    const { log, lines } = memoryLogger('warn');
    log.info('quiet');
    log.warn('loud');
    expect(lines).toHaveLength(1);
  });

  test.each([
    'authorization',
    'Authorization',
    'cookie',
    'set-cookie',
    'key_value',
    'keyValue',
    'api_key',
    'secret',
    'password',
    'token',
    'Idempotency-Key',
    'DATABASE_URL',
    'REDIS_URL',
    'ENCRYPTION_KEY',
    'SMTP_URL',
  ])('cuts what stands under "%s", at any depth', (name) => {
    const { log, lines, last } = memoryLogger();
    const given = { [name]: 'hunter2', a: { b: [{ [name]: ['hunter2'], kept: 1 }] } };
    log.info(given, 'x');
    expect(lines[0]).not.toContain('hunter2');
    expect(last().a.b[0]).toEqual({ [name]: '[secret]', kept: 1 });
    expect(given.a.b[0]?.[name]).toEqual(['hunter2']);
  });

  test('cuts secrets in the fields of an error and of its causes', () => {
    const { log, lines, last } = memoryLogger();
    const cause = Object.assign(new Error('inner'), { config: { password: 'hunter2' } });
    const err = Object.assign(new Error('outer', { cause }), { headers: { authorization: 'hunter2' } });
    log.error({ err }, 'failed');
    expect(lines[0]).not.toContain('hunter2');
    expect(last().err).toMatchObject({ message: 'outer', cause: { message: 'inner' } });
  });

  test('cuts keys, webhook secrets and passwords of URLs wherever they turn up', () => {
    const { log, lines, last } = memoryLogger();
    log.error(
      { note: 'Bearer sk_live_0123456789abcdefghijklmnopqrstuvwxyzAB', at: 'postgres://rms:hunter2@db:5432/rms' },
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw was used; see https://example.com/a@b',
    );
    expect(last()).toMatchObject({
      note: 'Bearer sk_live_[secret]',
      at: 'postgres://rms:[secret]@db:5432/rms',
      msg: 'whsec_[secret] was used; see https://example.com/a@b',
    });
    expect(lines[0]).not.toContain('hunter2');
  });

  test('survives what refers to itself, and leaves dates and the like alone', () => {
    const { log, last } = memoryLogger();
    const loop: Record<string, unknown> = { at: new Date(0), url: new URL('http://a.example/') };
    loop.self = loop;
    log.info(loop, 'x');
    expect(last()).toMatchObject({ at: '1970-01-01T00:00:00.000Z', url: 'http://a.example/', msg: 'x' });
  });
});
