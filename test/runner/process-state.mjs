// State of a process that test files share, and a file's changes to it.
import child_process from 'node:child_process';
import crypto from 'node:crypto';
import dns from 'node:dns';
import dnsPromises from 'node:dns/promises';
import events from 'node:events';
import fs from 'node:fs';
import fsPromises from 'node:fs/promises';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import stream from 'node:stream';
import timers from 'node:timers';
import timersPromises, { setTimeout as delay } from 'node:timers/promises';
import tls from 'node:tls';
import util from 'node:util';
import { longLived } from './long-lived.mjs';

const modules = {
  ...{ child_process, crypto, dns, 'dns/promises': dnsPromises, events, fs, 'fs/promises': fsPromises, http, http2 },
  ...{ https, net, os, stream, timers, 'timers/promises': timersPromises, tls, util },
};

/** Objects with members that a file may replace, by the object's name: globals, modules of Node, and their classes. */
const patchable = new Map(
  /** @type {[string, any][]} */ ([
    ['globalThis', globalThis],
    ['process', process],
    ['process.stdout', process.stdout],
    ['process.stderr', process.stderr],
    ...[...membersOf(globalThis), ...Object.entries(modules)].flatMap(([name, value]) =>
      objectsIn(String(name), value),
    ),
  ]),
);

/**
 * Returns the state of this process: members by the object that has them (environment variables, members of globals and
 * modules, numbers of listeners), and the numbers of active resources by type.
 */
export function processState() {
  const members = new Map([...patchable].map(([name, object]) => [`${name}.`, membersOf(object)]));
  members.set('environment variable ', new Map(Object.entries(process.env)));
  members.set(
    'listeners of process for ',
    new Map(process.eventNames().map((name) => [name, process.listenerCount(name)])),
  );
  return { members, resources: countsOf(process.getActiveResourcesInfo()) };
}

/**
 * Resolves to one line per difference from an earlier state, except the ones in long-lived.mjs. Waits until open
 * resources are closed, but at most `closingMs`.
 */
export async function leftBehind(before, closingMs) {
  const giveUpAtMs = performance.now() + closingMs;
  for (;;) {
    const lines = differences(before, processState());
    if (lines.length === 0 || performance.now() >= giveUpAtMs) return lines;
    await delay(2, undefined, { ref: false });
  }
}

function differences(before, after) {
  const members = [...after.members].flatMap(([name, now]) => changedMembers(name, before.members.get(name), now));
  const resources = [...after.resources].flatMap(([type, count]) => {
    const old = before.resources.get(type) ?? 0;
    return count > old ? [`active resource ${type}: ${count}, before ${old}`] : [];
  });
  return [...members, ...resources].filter((line) => !longLived.some(({ what }) => what.test(line)));
}

function changedMembers(object, before, after) {
  const lines = [];
  for (const [key, value] of after) {
    const old = before.get(key);
    if (Object.is(old, value)) continue;
    const change =
      typeof value === 'number' ? `: ${value}, before ${old ?? 0}` : before.has(key) ? ' changed' : ' added';
    lines.push(`${object}${String(key)}${change}`);
  }
  for (const key of before.keys()) if (!after.has(key)) lines.push(`${object}${String(key)} removed`);
  return lines;
}

/** Returns an object, and its prototype or the classes in it, with their names. */
function objectsIn(name, value) {
  if (value === null || value === globalThis || !['object', 'function'].includes(typeof value)) return [];
  const classes = modules[name] ? [...membersOf(value)].filter(([, member]) => isClass(member)) : [];
  return [
    [name, value],
    ...(isClass(value) ? [[`${name}.prototype`, value.prototype]] : []),
    ...classes.flatMap(([key, member]) => [
      [`${name}.${String(key)}`, member],
      [`${name}.${String(key)}.prototype`, member.prototype],
    ]),
  ];
}

function isClass(value) {
  return typeof value === 'function' && value.prototype !== undefined && value.prototype !== null;
}

/** Returns the own members of an object without calling getters. Members with a leading _ are Node's own. */
function membersOf(object) {
  const members = new Map();
  for (const key of Reflect.ownKeys(object)) {
    if (typeof key === 'string' && key.startsWith('_')) continue;
    const descriptor = Object.getOwnPropertyDescriptor(object, key);
    members.set(key, descriptor?.value ?? descriptor?.get ?? descriptor?.set);
  }
  return members;
}

function countsOf(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
