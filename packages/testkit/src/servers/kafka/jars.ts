import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** Folder of the brokers' pom.xml and logging configuration. */
export const kafkaFiles = fileURLToPath(new URL('../../../kafka/', import.meta.url));

const pom = join(kafkaFiles, 'pom.xml');
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const fetchTimeoutMs = 5 * 60_000;

/** Returns the folder with Kafka's jars. Maven downloads them once (45 MB) to ~/.cache. */
export async function kafkaJars(): Promise<string> {
  const jars = join(homedir(), '.cache', 'rms-kafka');
  if (isComplete(jars)) return jars;
  mkdirSync(dirname(jars), { recursive: true });
  const building = `${jars}.${process.pid}`;
  const args = ['-q', '-B', '-f', pom, copyDependencies, '-DincludeScope=runtime', `-DoutputDirectory=${building}`];
  try {
    await promisify(execFile)('mvn', args, { timeout: fetchTimeoutMs });
    writeFileSync(join(building, '.done'), '');
    // Another process may have finished first.
    if (isComplete(jars)) return jars;
    rmSync(jars, { recursive: true, force: true });
    renameSync(building, jars);
    return jars;
  } catch (error) {
    const { stdout = '', message } = error as Error & { stdout?: string };
    throw new Error(`Maven could not fetch Kafka: ${stdout.trim() || message}`, { cause: error });
  } finally {
    rmSync(building, { recursive: true, force: true });
  }
}

/** Returns whether all jars of the version in pom.xml are present. */
function isComplete(jars: string): boolean {
  const version = /<artifactId>kafka_2\.13<\/artifactId>\s*<version>(.+)<\/version>/.exec(
    readFileSync(pom, 'utf8'),
  )?.[1];
  return existsSync(join(jars, '.done')) && existsSync(join(jars, `kafka_2.13-${version}.jar`));
}
