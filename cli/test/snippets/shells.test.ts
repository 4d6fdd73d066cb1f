import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { describeWith, programEnv, suiteFolder } from '@rms/testkit';

const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts');

/** Runs a script in a shell that finds `rms`, and returns its output. */
async function runIn(folder: string, command: string, args: readonly string[], script: string): Promise<string> {
  writeFileSync(join(folder, 'rms'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, { mode: 0o755 });
  const file = join(folder, 'script');
  writeFileSync(file, script);
  const env = programEnv({
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    XDG_CONFIG_HOME: folder,
    RMS_URL: 'https://api.test',
    RMS_API_KEY: 'sk_test_x',
    TERM: 'xterm',
  });
  const { stdout } = await promisify(execFile)(command, [...args, file], { env, cwd: folder });
  return stdout;
}

describe('completion in bash', () => {
  const folder = suiteFolder('bash');

  test('commands, options and values with a colon are completed', async () => {
    const script = `
      source <(rms completion bash)
      complete -p rms
      try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rms; echo "\${COMPREPLY[@]}"; }
      try rms alerts ackn
      try rms requests list --fol
      try rms keys create --permissions alerts:
      try rms resources show ''`;
    expect((await runIn(folder, 'bash', ['--norc'], script)).split('\n')).toEqual([
      'complete -o default -F _rms rms',
      'acknowledge',
      '--follow',
      'alerts:read alerts:write',
      '',
      '',
    ]);
  });
});

describeWith('zsh', 'completion in zsh', () => {
  const folder = suiteFolder('zsh');

  test('the Tab key completes commands, options and values with a colon', async () => {
    const script = `
      zmodload zsh/zpty
      zpty shell zsh -f -i
      zpty -w shell 'PS1=; autoload -Uz compinit; compinit -u -D; source <(rms completion zsh); print rea""dy'
      zpty -r shell output '*ready*'
      try() {
        zpty -w -n shell $'\\C-u'$1$'\\t'
        zpty -r shell output "*$2*"
        print -r -- found $2
      }
      try 'rms alerts ackn' acknowledge
      try 'rms requests list --fol' --follow
      try 'rms keys create --permissions audit' audit:read
      zpty -d shell`;
    const output = await runIn(folder, 'zsh', ['-f'], script);
    expect(output.trim().split('\n')).toEqual(['found acknowledge', 'found --follow', 'found audit:read']);
  });
});

describeWith('fish', 'completion in fish', () => {
  const folder = suiteFolder('fish');

  test('commands, options and values are completed, with their descriptions', async () => {
    const script = `
      rms completion fish | source
      complete -C 'rms alerts ackn'
      complete -C 'rms requests list --fol'
      complete -C 'rms keys create --permissions audit'`;
    expect((await runIn(folder, 'fish', ['--no-config'], script)).split('\n')).toEqual([
      'acknowledge\tacknowledge an incident (alerts:write)',
      expect.stringMatching(/^--follow\tprint requests as they are recorded/),
      'audit:read',
      '',
    ]);
  });
});
