import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

/** What a name has. A list of lists: one for each time that it is asked for, the last for all times after. */
export interface Records {
  readonly a?: readonly string[] | readonly (readonly string[])[];
  readonly aaaa?: readonly string[] | readonly (readonly string[])[];
  /** An alias: its own name, and the addresses of the other one beside it, as a recursive server answers. */
  readonly cname?: string;
  /** No question about it is answered before the server closes. */
  readonly silent?: true;
  /** Default: 0. */
  readonly ttlSeconds?: number;
}

export interface DnsServer {
  /** "127.0.0.1:port". */
  readonly address: string;
  /** "A name" of each question, in their order. */
  readonly questions: readonly string[];
  /** From now on every name has the last of its lists. */
  turnToLast(): void;
  close(): Promise<void>;
}

const types = { a: 1, cname: 5, aaaa: 28 } as const;

/** A DNS server on loopback (UDP) that knows these names and answers NXDOMAIN for all others. */
export async function startDnsServer(zone: Readonly<Record<string, Records>>): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  const asked = new Map<string, number>();
  const unsaid: (() => Promise<void>)[] = [];
  let last = false;

  const addressesOf = (name: string, type: 'a' | 'aaaa'): readonly string[] => {
    const sets = zone[name]?.[type] ?? [];
    const nth = last ? sets.length : (asked.get(`${type} ${name}`) ?? 0);
    asked.set(`${type} ${name}`, nth + 1);
    const set = typeof sets[0] === 'string' ? sets : (sets[Math.min(nth, sets.length - 1)] ?? []);
    return set as readonly string[];
  };
  const answersOf = (name: string, type: 'a' | 'aaaa'): Buffer[] => {
    const records = zone[name];
    if (!records) return [];
    const ttl = records.ttlSeconds ?? 0;
    if (records.cname) {
      return [record(name, types.cname, ttl, encodeName(records.cname)), ...answersOf(records.cname, type)];
    }
    return addressesOf(name, type).map((address) => record(name, types[type], ttl, encodeAddress(address)));
  };

  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query);
    const wanted = type === types.a ? 'a' : type === types.aaaa ? 'aaaa' : undefined;
    questions.push(`${wanted?.toUpperCase() ?? type} ${name}`);
    const answers = wanted ? answersOf(name, wanted) : [];
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    // An answer; recursion was wanted and is available; NXDOMAIN for names that are not there.
    head.writeUInt16BE(0x8180 | (zone[name] ? 0 : 3), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(answers.length, 6);
    const answer = Buffer.concat([head, query.subarray(12, end), ...answers]);
    const say = () => new Promise<void>((resolve) => socket.send(answer, from.port, from.address, () => resolve()));
    if (zone[name]?.silent) unsaid.push(say);
    else void say();
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    turnToLast() {
      last = true;
    },
    async close() {
      await Promise.all(unsaid.map((say) => say()));
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function record(name: string, type: number, ttlSeconds: number, data: Buffer): Buffer {
  const fields = Buffer.alloc(10);
  fields.writeUInt16BE(type, 0);
  fields.writeUInt16BE(1, 2);
  fields.writeUInt32BE(ttlSeconds, 4);
  fields.writeUInt16BE(data.length, 8);
  return Buffer.concat([encodeName(name), fields, data]);
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label, 'latin1')]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function encodeAddress(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.from(address.split('.').map(Number));
  // Hexadecimal groups only, with "::" for the zeros that are left out.
  const [before = '', after] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const [first, last] = [before, after ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - (first?.length ?? 0) - (last?.length ?? 0) }, () => '0');
  const groups = [...(first ?? []), ...zeros, ...(last ?? [])];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
