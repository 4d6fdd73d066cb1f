// Runs in a pod that sees all processes of its node. Sends SIGKILL to process 1 of a pod's container, found by the name
// of the pod. Uses only Node; prints the process id. Usage: node kill.mjs POD
import { readdirSync, readFileSync } from 'node:fs';

const [pod] = process.argv.slice(2);

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return ''; // the process has just ended
  }
}

const victims = readdirSync('/proc')
  .filter((name) => /^\d+$/.test(name))
  .filter((pid) => read(pid, 'environ').split('\0').includes(`HOSTNAME=${pod}`))
  .filter((pid) => /^NSpid:.*\s1$/m.test(read(pid, 'status')));
if (victims.length !== 1) {
  console.error(`expected one container of ${pod}, found ${victims.length}`);
  process.exit(1);
}
process.kill(Number(victims[0]), 'SIGKILL');
console.log(victims[0]);
