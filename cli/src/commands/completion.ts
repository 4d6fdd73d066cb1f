import type { Command } from 'commander';

/**
 * The scripts, by shell. They call `rms complete` with the words up to the cursor, which prints a line per candidate:
 * the word, a tab and its description.
 */
const scripts = {
  // Without the colon, because permissions such as alerts:read are single words.
  bash: `COMP_WORDBREAKS=\${COMP_WORDBREAKS//:/}
_rms() {
  local IFS=$'\\n'
  COMPREPLY=($(rms complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _rms rms`,
  zsh: `#compdef rms
_rms() {
  local line
  local -a candidates
  for line in \${(f)"$(rms complete "\${(@)words[2,CURRENT]}" 2>/dev/null)"}; do
    candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( $#candidates )); then _describe 'rms' candidates; else _files; fi
}
if [[ $funcstack[1] = _rms ]]; then _rms "$@"; else compdef _rms rms; fi`,
  fish: `complete -c rms -f -a '(rms complete (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
} as const;

const help = `
bash: source <(rms completion bash)     in ~/.bashrc
zsh:  source <(rms completion zsh)      in ~/.zshrc, after compinit
fish: rms completion fish | source      in ~/.config/fish/config.fish`;

/** Prints a script that lets a shell complete the commands, options and values of `rms`. */
export function define(completion: Command): void {
  completion.addHelpText('after', help).action((shell: keyof typeof scripts) => {
    process.stdout.write(`${scripts[shell]}\n`);
  });
}
