import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

/** A name's records. In a list of lists, each query gets the next list, and the last one repeats. */
export interface Records {
  readonly a?: readonly string[] | readonly (readonly string[])[];
  readonly aaaa?: readonly string[] | readonly (readonly string[])[];
  /** Canonical name. The response contains it and the addresses of its target, as from a recursive server. */
  readonly cname?: string;
  /** Queries for this name, or only of this type, get no response until `answer` is called or the server closes. */
  readonly silent?: true | 'a' | 'aaaa';
  /** Defaults to 0. */
  readonly ttlSeconds?: number;
}

export interface DnsServer {
  /** For example "127.0.0.1:53000". */
  readonly address: string;
  /** "A name" or "AAAA name" of each query, in order. */
  readonly questions: readonly string[];
  /** Sends the withheld responses. */
  answer(): Promise<void>;
  /** Makes every name use the last of its lists. */
  turnToLast(): void;
  close(): Promise<void>;
}

const types = { a: 1, cname: 5, aaaa: 28 } as const;

/** Starts a DNS server on loopback (UDP) that serves `zone` and responds with NXDOMAIN to all other names. */
export async function startDnsServer(zone: Readonly<Record<string, Records>>): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  const requestCount = new Map<string, number>();
  const unsaid: (() => Promise<void>)[] = [];
  let last = false;

  const addressesOf = (name: string, type: 'a' | 'aaaa'): readonly string[] => {
    const sets = zone[name]?.[type] ?? [];
    const nth = last ? sets.length : (requestCount.get(`${type} ${name}`) ?? 0);
    requestCount.set(`${type} ${name}`, nth + 1);
    const set = typeof sets[0] === 'string' ? sets : (sets[Math.min(nth, sets.length - 1)] ?? []);
    return set as readonly string[];
  };
  const responsesOf = (name: string, type: 'a' | 'aaaa'): Buffer[] => {
    const records = zone[name];
    if (!records) return [];
    const ttl = records.ttlSeconds ?? 0;
    if (records.cname) {
      return [record(name, types.cname, ttl, encodeName(records.cname)), ...responsesOf(records.cname, type)];
    }
    return addressesOf(name, type).map((address) => record(name, types[type], ttl, encodeAddress(address)));
  };

  socket.on('message', (query, from) => {
    const { name, type, end } = readQuestion(query);
    const wanted = type === types.a ? 'a' : type === types.aaaa ? 'aaaa' : undefined;
    questions.push(`${wanted?.toUpperCase() ?? type} ${name}`);
    const responses = wanted ? responsesOf(name, wanted) : [];
    const head = Buffer.alloc(12);
    query.copy(head, 0, 0, 2);
    // Flags: response, recursion desired and available; NXDOMAIN for unknown names.
    head.writeUInt16BE(0x8180 | (zone[name] ? 0 : 3), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(responses.length, 6);
    const response = Buffer.concat([head, query.subarray(12, end), ...responses]);
    const say = () => new Promise<void>((resolve) => socket.send(response, from.port, from.address, () => resolve()));
    const { silent } = zone[name] ?? {};
    if (silent === true || (silent && silent === wanted)) unsaid.push(say);
    else void say();
  });
  const answer = async () => {
    await Promise.all(unsaid.splice(0).map((say) => say()));
  };
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    answer,
    turnToLast() {
      last = true;
    },
    async close() {
      await answer();
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
  // The URL parser normalizes to hexadecimal groups, with "::" for omitted zeros.
  const [before = '', after] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split('::');
  const [first, last] = [before, after ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - (first?.length ?? 0) - (last?.length ?? 0) }, () => '0');
  const groups = [...(first ?? []), ...zeros, ...(last ?? [])];
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
