import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describeWith, suiteFolder } from '@rms/testkit';

const script = join(import.meta.dirname, '..', '..', '..', 'scripts', 'rms-executable.mjs');
/** Node runs the injected program if the digit is 1. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2:';
const segmentCommand = 0x19;
const signatureCommand = 0x1d;

interface Segment {
  readonly name: string;
  readonly end: number;
  readonly sections: readonly { readonly name: string; readonly start: number; readonly size: number }[];
}

/** Reads the load commands of a Mach-O executable. */
function readMachO(file: Buffer) {
  const headerBytes = 32;
  const segments: Segment[] = [];
  const commands: number[] = [];
  const text = (at: number) => file.toString('latin1', at, at + 16).replace(/\0+$/, '');
  let at = headerBytes;
  for (let i = file.readUInt32LE(16); i > 0; i -= 1) {
    const command = file.readUInt32LE(at);
    commands.push(command);
    if (command === segmentCommand) {
      const end = Number(file.readBigUInt64LE(at + 40) + file.readBigUInt64LE(at + 48));
      const sections = Array.from({ length: file.readUInt32LE(at + 64) }, (_, n) => {
        const section = at + 72 + n * 80;
        return {
          name: text(section),
          start: file.readUInt32LE(section + 48),
          size: Number(file.readBigUInt64LE(section + 40)),
        };
      });
      segments.push({ name: text(at + 8), end, sections });
    }
    at += file.readUInt32LE(at + 4);
  }
  return { magic: file.readUInt32LE(0), cpu: file.readUInt32LE(4), commands, commandsEnd: at, segments };
}

describeWith('newest-node', 'the executables for other platforms', () => {
  const folder = suiteFolder('executables');

  /** Builds an executable, and returns its content. */
  const build = (platform: string) => {
    const output = execFileSync(process.execPath, [script, '--out', folder, platform], { encoding: 'utf8' });
    const [path = ''] = output.split('  ');
    const content = readFileSync(path);
    rmSync(path);
    expect(content.includes(`${fuse}1`)).toBe(true);
    expect(content.includes(`${fuse}0`)).toBe(false);
    expect(content.includes('Calls the API with a key')).toBe(true);
    return content;
  };

  test('win-x64 has the program as a resource, and no rest of the signature of Node', () => {
    const file = build('win-x64');
    const header = file.readUInt32LE(0x3c);
    expect(file.toString('latin1', header, header + 4)).toBe('PE\0\0');
    expect(file.readUInt16LE(header + 4)).toBe(0x8664);
    expect(file.includes(Buffer.from('NODE_SEA_BLOB', 'utf16le'))).toBe(true);
    expect(file.readBigUInt64LE(header + 168)).toBe(0n);
  });

  test.each([
    ['darwin-x64', 0x1000007],
    ['darwin-arm64', 0x100000c],
  ])('%s has the program as a section, and codesign can add a signature', (platform, cpu) => {
    const file = build(platform);
    const { magic, commands, commandsEnd, segments, ...header } = readMachO(file);
    expect(magic).toBe(0xfeedfacf);
    expect(header.cpu).toBe(cpu);
    const program = segments.find(({ name }) => name === 'NODE_SEA')?.sections[0];
    expect(program).toMatchObject({ name: '__NODE_SEA_BLOB', size: expect.any(Number) });
    const { start = 0, size = 0 } = program ?? {};
    expect(file.subarray(start, start + size).includes('RMS_API_KEY')).toBe(true);
    // codesign needs an unsigned executable that ends with __LINKEDIT, and space for one more load command.
    expect(commands).not.toContain(signatureCommand);
    expect(segments.at(-1)).toMatchObject({ name: '__LINKEDIT', end: file.length });
    const starts = segments.flatMap(({ sections }) => sections.map(({ start }) => start)).filter((start) => start > 0);
    expect(Math.min(...starts) - commandsEnd).toBeGreaterThanOrEqual(16);
  });

  test('linux-arm64 has the program as a note', () => {
    const file = build('linux-arm64');
    expect(file.toString('latin1', 0, 4)).toBe('\x7fELF');
    expect(file.readUInt16LE(18)).toBe(0xb7);
    expect(file.includes('.note.node.sea')).toBe(true);
  });
});
