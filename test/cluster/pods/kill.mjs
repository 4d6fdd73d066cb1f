// Runs in a pod that sees all processes of its node: kill -9 of the first process of a container, found by the name of
// its pod. Plain Node; prints the process id. usage: node kill.mjs POD
import { readdirSync, readFileSync } from 'node:fs';

const [pod] = process.argv.slice(2);

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // it has just ended
  }
}

const victims = readdirSync('/proc')
  .filter((name) => /^\d+$/.test(name))
  .filter((pid) => read(pid, 'environ').split('\0').includes(`HOSTNAME=${pod}`))
  .filter((pid) => /^NSpid:.*\s1$/m.test(read(pid, 'status')));
if (victims.length !== 1) {
  console.error(`${victims.length} processes are number 1 of a container of ${pod}`);
  process.exit(1);
}
process.kill(Number(victims[0]), 'SIGKILL');
console.log(victims[0]);
