// node share-compile-cache.mjs FOLDER USER: makes a compile cache usable by the user with the ID USER. Node creates its
// files for the current user only, in a directory whose name ends with the ID of that user.
import { chmodSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';

const [folder, user] = process.argv.slice(2);
for (const name of readdirSync(folder)) {
  const shared = join(folder, name.replace(/-\d+$/, `-${user}`));
  renameSync(join(folder, name), shared);
  for (const file of readdirSync(shared)) chmodSync(join(shared, file), 0o644);
}
