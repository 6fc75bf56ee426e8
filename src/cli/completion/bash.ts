/** The completion script for bash. Works with version 3.2, which macOS has. */
import type { CompletedCommand, CompletedOption, CompletionModel, ExpectedValue } from './model.ts'

export function toBash({ commands, options }: CompletionModel): string {
  const names = commands.map(({ name }) => name)
  return `# Completion of kopf for bash. Install it: kopf completion bash > ~/.local/share/bash-completion/completions/kopf
_kopf_words() { COMPREPLY+=($(compgen -W "$1" -- "$word")); }
_kopf_files() { local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$word")); }
_kopf() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="" each
  COMPREPLY=()
  for each in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command:$each" in
      *:-*) ;;
      :*) command="$each" ;;
${nestedNames(commands).map(toNestedCase).join('')}      *) break ;;
    esac
  done
  case "$command" in
${commands.flatMap(toCases).join('\n')}
    "")
      ${words([...names, ...flagsOf(options)])}
      ;;
  esac
}
complete -F _kopf kopf
`
}

/** The parent and the name of each command below another one. */
function nestedNames(commands: readonly CompletedCommand[]): Array<readonly [parent: string, name: string]> {
  return commands.flatMap(({ name: parent, subcommands }) => subcommands.map(({ name }) => [parent, name] as const))
}

/** Bash knows a command below another one by both names with a dash between them. */
function toNestedCase([parent, name]: readonly [parent: string, name: string]): string {
  return `      ${parent}:${name}) command="${parent}-${name}"; break ;;\n`
}

function toCases(command: CompletedCommand): string[] {
  const nested = command.subcommands.map((one) => toCase({ ...one, name: `${command.name}-${one.name}` }))
  return [toCase(command), ...nested]
}

function toCase({ name, options, positional, subcommands }: CompletedCommand): string {
  const values = options.filter(({ value }) => value !== undefined)
  return `    ${name})
      case "$previous" in
${values.map((option) => `        ${option.flags.join('|')}) ${completionsFor(option.value!)}; return ;;`).join('\n')}
      esac
      case "$word" in
        -*) ${words(flagsOf(options))} ;;
        *) ${[completionsFor(positional), ...(subcommands.length > 0 ? [words(subcommands.map((one) => one.name))] : [])].join('; ')} ;;
      esac
      ;;`
}

function flagsOf(options: readonly CompletedOption[]): string[] {
  return options.flatMap(({ flags }) => flags)
}

function completionsFor(expected: ExpectedValue): string {
  if (expected === 'file') return '_kopf_files'
  return expected === 'anything' || expected.length === 0 ? ':' : words(expected)
}

/** The words need no quoting: names of commands and options consist of letters, digits and dashes. */
function words(list: readonly string[]): string {
  return `_kopf_words "${list.join(' ')}"`
}
