import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { callApi, describeWith, perSuite, testDatabase } from '@rms/testkit';
import { newInstallation, npmStart, type Start } from '../npm-start.ts';
import { servicesEnv } from './services-env.ts';

const script = fileURLToPath(new URL('../../../scripts/start-services.mjs', import.meta.url));
/** As OpenShift assigns them: a user without an entry in /etc/passwd, and the group 0. */
const user = 1_000_700_000;
/** Runs "$@" as the user, with a read-only file system except for an empty folder at /mnt. */
const restrict = `
  mount -t tmpfs -o uid=${user},gid=0,mode=700 rms-test /mnt && mount -o remount,bind,ro / &&
  exec setpriv --reuid ${user} --regid 0 --clear-groups --no-new-privs --bounding-set -all -- "$@"`;
const restricted = ['--mount', 'sh', '-c', restrict, 'sh'];

describeWith(['redis', 'kafka', 'small-disk'], 'npm run start:services', () => {
  let services: Start | undefined;
  afterAll(async () => {
    services?.child.kill('SIGTERM');
    await services?.ended();
  });
  const installation = perSuite(newInstallation);
  const database = perSuite(() => testDatabase([]));

  test('the restrictions of this suite are effective', () => {
    const { stderr } = spawnSync('unshare', [...restricted, 'touch', '/var/rms-test'], { encoding: 'utf8' });
    expect(stderr).toMatch(/Read-only file system/);
    const { stdout } = spawnSync('unshare', [...restricted, 'id'], { encoding: 'utf8' });
    expect(stdout.trim()).toBe(`uid=${user} gid=0(root) groups=0(root)`);
  });

  test('works as a user without a name on a read-only file system', async () => {
    const env = { ...(await servicesEnv(installation, database)), DATA_DIR: '/mnt/data' };
    const command = ['unshare', ...restricted, process.execPath, script];
    services = npmStart(env, { command });
    const { live } = await services.ready();
    const created = await callApi('POST', `${installation.liveUrl}/v1/resources`, live, { name: 'first' });
    expect(created.status).toBe(201);
    services.child.kill('SIGTERM');
    expect([await services.ended(), services.errors()]).toEqual([0, '']);
  });
});
