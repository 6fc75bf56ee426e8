/** `kopf completion`: prints a completion script for a shell. */
import type { Command } from 'commander'
import { toBash } from '../completion/bash.ts'
import { toFish } from '../completion/fish.ts'
import { readTree } from '../completion/model.ts'
import { toZsh } from '../completion/zsh.ts'
import { choiceArgument } from '../help.ts'
import { print } from '../terminal.ts'

const writers = { bash: toBash, zsh: toZsh, fish: toFish } as const

export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .summary('print a script for the completion of a shell')
    .description('Prints a script that makes a shell complete the commands, options and files of kopf.')
    .addArgument(choiceArgument('<shell>', 'the shell', Object.keys(writers)))
    .addHelpText(
      'after',
      [
        '\nInstall it for good:',
        '  bash  $ kopf completion bash > ~/.local/share/bash-completion/completions/kopf',
        '  zsh   $ mkdir -p ~/.zfunc && kopf completion zsh > ~/.zfunc/_kopf',
        '        and in ~/.zshrc: fpath+=~/.zfunc; autoload -Uz compinit; compinit',
        '  fish  $ kopf completion fish > ~/.config/fish/completions/kopf.fish',
        '\nOr for this shell only:',
        '  $ source <(kopf completion bash)',
      ].join('\n'),
    )
    .action((shell: keyof typeof writers) => print(writers[shell](readTree(program)).trimEnd()))
}
