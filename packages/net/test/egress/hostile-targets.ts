import { networkInterfaces } from 'node:os';
import type { Records } from '@rms/testkit';
import { isPublicAddress } from '../../src/egress/addresses.ts';

/** A URL that must never be called. */
export interface HostileTarget {
  /** "PORT" stands for a listener's port on all addresses of this machine. */
  readonly url: string;
  readonly why: string;
  /**
   * When the URL is recognizable as hostile: from the URL alone, from DNS at creation, or only from DNS at the call.
   */
  readonly shownBy: 'url' | 'dns' | 'later';
}

/** The DNS records of the host names. */
export const hostileZone: Record<string, Records> = {};

const table: HostileTarget[] = [];
const add =
  (shownBy: HostileTarget['shownBy']) =>
  (why: string, ...urls: string[]) =>
    table.push(...urls.map((url) => ({ url, why, shownBy })));
const shown = add('url');

shown(
  'not a URL',
  'not a url',
  '',
  '/hook',
  '//public.example/',
  'https://',
  'https://:443/',
  'https:///',
  'https://?x',
);
shown('not https', 'http://public.example/', 'HTTP://public.example/', 'ftp://public.example/', 'ws://public.example/');
shown(
  'not a network protocol',
  'file:///etc/passwd',
  'data:text/plain,x',
  'javascript:alert(1)',
  'unix:/run/docker.sock',
);
shown('another protocol', 'gopher://127.0.0.1:PORT/_x', 'dict://127.0.0.1:PORT/x', 'ldap://127.0.0.1:PORT/');

shown('loopback', 'https://127.0.0.1:PORT/', 'https://127.0.0.2:PORT/', 'https://127.255.255.254:PORT/');
shown('short forms', 'https://127.1:PORT/', 'https://127.0.1:PORT/', 'https://0:PORT/');
shown('decimal', 'https://2130706433:PORT/', 'https://2852039166/');
shown('octal', 'https://0177.0.0.1:PORT/', 'https://017700000001:PORT/', 'https://0177.00.00.01:PORT/');
shown('hexadecimal', 'https://0x7f000001:PORT/', 'https://0x7f.1:PORT/', 'https://0X7F.0x0.0x0.0x1:PORT/');
shown('mixed', 'https://0x7f.0.0.01:PORT/', 'https://127.0x1:PORT/', 'https://0xa9.254.0250.254/');
shown(
  'a number too large',
  'https://4294967296/',
  'https://256.256.256.256/',
  'https://1.2.3.4.5/',
  'https://0x1ffffffff/',
);
shown('trailing dots', 'https://127.0.0.1.:PORT/', 'https://localhost.:PORT/', 'https://169.254.169.254./');
shown(
  'full-width digits and dots',
  'https://１２７.0.0.1:PORT/',
  'https://127。0。0。1:PORT/',
  'https://①②⑦.⓪.⓪.①:PORT/',
);
shown(
  'full-width letters',
  'https://ｌｏｃａｌｈｏｓｔ:PORT/',
  'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/',
  'https://loc\u00adalhost:PORT/',
);
shown('percent-encoded', 'https://%31%32%37.0.0.1:PORT/', 'https://127%2e0%2e0%2e1:PORT/', 'https://%6cocalhost:PORT/');
shown('embedded white space', 'https://127.0.0.1\t:PORT/', 'ht\ntps://127.0.0.1:PORT/', ' https://127.0.0.1:PORT/');
shown('backslashes', 'https:\\\\127.0.0.1:PORT\\', 'https://127.0.0.1:PORT\\@public.example/');
shown(
  'user names',
  'https://user@public.example/',
  'https://user:pass@public.example/',
  'https://:pass@public.example/',
);
shown(
  'an address behind a user name',
  'https://public.example@127.0.0.1:PORT/',
  'https://public.example:443@127.0.0.1:PORT/',
  'https://public.example%2f@127.0.0.1:PORT/',
  'https://a@public.example@127.0.0.1:PORT/',
);
shown('an address before a fake host', 'https://127.0.0.1:PORT#@public.example/', 'https://127.0.0.1:PORT?@a.b/');

shown('any address', 'https://0.0.0.0:PORT/', 'https://[::]:PORT/', 'https://0.1.2.3:PORT/');
shown(
  'private networks',
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.168.1.1/',
);
shown('carrier-grade NAT', 'https://100.64.0.1/', 'https://100.127.255.255/');
shown(
  'link-local',
  'https://169.254.0.1/',
  'https://[fe80::1]/',
  'https://[fe80::1%25eth0]/',
  'https://[fe80::1%eth0]/',
);
shown('documentation', 'https://192.0.2.1/', 'https://198.51.100.1/', 'https://203.0.113.1/', 'https://[2001:db8::1]/');
shown('documentation range of RFC 9637', 'https://[3fff::1]/', 'https://[3fff:fff:ffff::1]/');
shown('benchmarks', 'https://198.18.0.1/', 'https://198.19.255.255/', 'https://[2001:2::1]/');
shown('multicast', 'https://224.0.0.1/', 'https://239.255.255.255/', 'https://[ff02::1]/', 'https://[ff0e::1]/');
shown('broadcast and reserved', 'https://255.255.255.255/', 'https://240.0.0.1/');
shown('relays of 6to4, AS112, AMT', 'https://192.88.99.1/', 'https://192.175.48.1/', 'https://192.52.193.1/');
shown('protocol assignments', 'https://192.0.0.1/', 'https://192.0.0.8/', 'https://192.0.0.170/');

shown('IPv6 loopback', 'https://[::1]:PORT/', 'https://[0:0:0:0:0:0:0:1]:PORT/', 'https://[0000::0001]:PORT/');
shown('mapped', 'https://[::ffff:127.0.0.1]:PORT/', 'https://[::ffff:7f00:1]:PORT/', 'https://[::FFFF:10.0.0.1]/');
shown('mapped, in full', 'https://[0:0:0:0:0:ffff:127.0.0.1]:PORT/', 'https://[::ffff:169.254.169.254]/');
shown('translated', 'https://[::ffff:0:127.0.0.1]:PORT/', 'https://[::ffff:0:7f00:1]:PORT/');
shown('IPv4-compatible', 'https://[::127.0.0.1]:PORT/', 'https://[::7f00:1]:PORT/', 'https://[::10.0.0.1]/');
shown('NAT64', 'https://[64:ff9b::127.0.0.1]:PORT/', 'https://[64:ff9b::a9fe:a9fe]/', 'https://[64:ff9b:1::7f00:1]/');
shown('6to4', 'https://[2002:7f00:1::]:PORT/', 'https://[2002:a9fe:a9fe::1]/', 'https://[2002:c0a8:101::1]/');
shown('Teredo', 'https://[2001:0:7f00:1::]/', 'https://[2001::80ff:fffe]/');
shown(
  'ISATAP',
  'https://[2001:470:1:1:0:5efe:127.0.0.1]/',
  'https://[2001:470:1:1:200:5efe:a00:1]/',
  'https://[2001:470::5efe:7f00:1]/',
);
shown('ORCHID', 'https://[2001:10::1]/', 'https://[2001:20::1]/');
shown('unique local', 'https://[fc00::1]/', 'https://[fd12:3456:789a::1]/');
shown('site-local', 'https://[fec0::1]/', 'https://[feff::1]/');
shown('discard, segment routing, 6bone', 'https://[100::1]/', 'https://[5f00::1]/', 'https://[3ffe::1]/');
shown('not assigned', 'https://[4000::1]/', 'https://[e000::1]/', 'https://[1::1]/');
shown(
  'not an address',
  'https://[::1/',
  'https://[:::1]/',
  'https://[127.0.0.1]/',
  'https://[::ffff:127.0.0.1.]/',
  'https://[v1.x]/',
);

shown(
  'metadata of AWS, GCP, Azure and others',
  'https://169.254.169.254/latest/meta-data/',
  'https://169.254.170.2/v2/',
);
shown('metadata of AWS on IPv6', 'https://[fd00:ec2::254]/latest/', 'https://[fd00:ec2::23]/');
shown(
  'metadata of GCP',
  'https://metadata.google.internal/',
  'https://metadata/',
  'https://METADATA.google.internal./',
);
shown('metadata of Azure', 'https://168.63.129.16/', 'https://168.63.129.16:32526/', 'https://2822734096/');
shown('metadata of Alibaba', 'https://100.100.100.200/latest/meta-data/');
shown('metadata of Oracle', 'https://192.0.0.192/opc/v1/', 'https://[fd00:c1::a9fe:a9fe]/');
shown('metadata of OpenStack, Tencent', 'https://[fe80::a9fe:a9fe]/', 'https://169.254.0.23/');
shown('metadata of AWS by name', 'https://instance-data/latest/', 'https://instance-data.ec2.internal/');

shown(
  'localhost',
  'https://localhost:PORT/',
  'https://LOCALHOST:PORT/',
  'https://app.localhost:PORT/',
  'https://a.b.localhost./',
);
shown('localhost of Linux', 'https://localhost.localdomain:PORT/', 'https://localhost6:PORT/');
shown('Kubernetes', 'https://kubernetes/', 'https://kubernetes.default.svc/', 'https://redis.data.SVC./');
shown('Kubernetes, in full', 'https://kubernetes.default.svc.cluster.local/', 'https://redis.data.svc.cluster.local/');
shown('Docker', 'https://host.docker.internal/', 'https://gateway.docker.internal/', 'https://db/');
shown(
  'names of local networks',
  'https://printer.local/',
  'https://nas.home.arpa/',
  'https://router.lan/',
  'https://git.corp/',
);
shown(
  'names without a network',
  'https://vault.internal/',
  'https://intranet/',
  'https://x.onion/',
  'https://1.0.0.127.in-addr.arpa/',
);

shown('an invalid port', 'https://public.example:0/', 'https://public.example:65536/', 'https://public.example:-1/');
shown('SSH, Telnet, SMTP, DNS', ...[22, 23, 25, 53, 465, 587].map((port) => `https://public.example:${port}/`));
shown('FTP, POP3, IMAP, LDAP, SMB', ...[21, 110, 143, 389, 445, 636].map((port) => `https://public.example:${port}/`));
shown('databases', ...[1433, 1521, 3306, 5432, 27017].map((port) => `https://public.example:${port}/`));
shown('caches and queues', ...[6379, 11211, 5672, 9092, 2181].map((port) => `https://public.example:${port}/`));
shown('machine administration', ...[2375, 2379, 6443, 10250, 3389].map((port) => `https://public.example:${port}/`));
shown('ports with leading zeros', 'https://public.example:0025/', 'https://public.example:006379/');

const named = (shownBy: 'dns' | 'later', why: string, name: string, records: Records, port = 'PORT') => {
  const host = `${name}.hostile.example`;
  hostileZone[host] = records;
  add(shownBy)(why, `https://${host}:${port}/`);
};
named('dns', 'a name for loopback', 'loopback', { a: ['127.0.0.1'] });
named('dns', 'a name for loopback with a TTL of an hour', 'kept', { a: ['127.0.0.1'], ttlSeconds: 3_600 });
named('dns', 'a name that looks like an address', '127.0.0.1', { a: ['127.0.0.1'] });
named('dns', 'a name for IPv6 loopback only', 'loopback6', { aaaa: ['::1'] });
named('dns', 'any address', 'any', { a: ['0.0.0.0'], aaaa: ['::'] });
named('dns', 'private', 'private', { a: ['10.0.0.5'] }, '443');
named('dns', 'carrier-grade NAT', 'cgnat', { a: ['100.64.1.1'] }, '443');
named('dns', 'metadata', 'metadata', { a: ['169.254.169.254'] }, '443');
named('dns', 'metadata of Azure', 'azure', { a: ['168.63.129.16'] }, '443');
named('dns', 'metadata of AWS on IPv6', 'metadata6', { aaaa: ['fd00:ec2::254'] }, '443');
named('dns', 'a public address and loopback', 'mixed', { a: ['93.184.215.14', '127.0.0.1'] });
named('dns', 'loopback and a public address', 'mixed2', { a: ['127.0.0.1', '93.184.215.14'] });
named('dns', 'public by IPv4, loopback by IPv6', 'mixed6', { a: ['93.184.215.14'], aaaa: ['::1'] });
named('dns', 'public by IPv6, private by IPv4', 'mixed4', { a: ['192.168.0.1'], aaaa: ['2606:4700::1111'] }, '443');
named('dns', 'mapped', 'mapped', { aaaa: ['::ffff:127.0.0.1'] });
named('dns', 'IPv4-compatible', 'compatible', { aaaa: ['::127.0.0.1'] });
named('dns', 'NAT64', 'nat64', { aaaa: ['64:ff9b::7f00:1'] });
named('dns', '6to4', '6to4', { aaaa: ['2002:7f00:1::1'] });
named('dns', 'Teredo', 'teredo', { aaaa: ['2001:0:7f00:1::'] });
named('dns', 'ISATAP', 'isatap', { aaaa: ['2001:470:1:1:0:5efe:7f00:1'] });
named('dns', 'link-local', 'link-local', { aaaa: ['fe80::1'] });
named('dns', 'an alias of a private name', 'alias', { cname: 'loopback.hostile.example' });
named('dns', 'an alias of an alias', 'alias2', { cname: 'alias.hostile.example' });
named('dns', 'an alias of localhost', 'alias3', { cname: 'localhost' });
hostileZone.localhost = { a: ['127.0.0.1'], aaaa: ['::1'] };
const [harmless, loopback] = [['93.184.215.14'], ['127.0.0.1']];
named('later', 'public at creation, loopback at the call', 'rebinding', { a: [harmless, loopback] });
named('later', 'the same by IPv6', 'rebinding6', { a: [harmless, []], aaaa: [[], ['::1']] });
named('later', 'public, then both', 'rebinding2', { a: [harmless, [...harmless, ...loopback]] });
named('later', 'unknown at creation', 'late', { a: [[], loopback] });
named('later', 'metadata at the call', 'rebinding3', { a: [harmless, ['169.254.169.254']] }, '443');

/** Addresses of this machine, except public ones. */
for (const { address, scopeid } of Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])) {
  const host = address.includes(':') ? `[${address}]` : address;
  if (!isPublicAddress(address)) shown(`an address of this machine (${scopeid ?? 0})`, `https://${host}:PORT/hook`);
}

/** @param port the listener's port */
export function hostileTargets(port: number): HostileTarget[] {
  return table.map((target) => ({ ...target, url: target.url.replaceAll('PORT', `${port}`) }));
}
