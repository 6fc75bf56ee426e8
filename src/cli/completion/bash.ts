/** The completion script for bash. Works with version 3.2, which macOS has. */
import {
  type CompletedCommand,
  type CompletedOption,
  type CompletionModel,
  type ExpectedValue,
  isClusterValue,
} from './model.ts'
import { commandFinder } from './shell-functions.ts'

/**
 * `compgen -W` expands its words as the shell does, including `$(…)`. Names from a cluster or a kubeconfig are therefore read line by line. Readline
 * splits words at ":" and "=", and replaces only the part behind the last one, so that the part before is removed from the candidates.
 */
export function toBash({ commands, options }: CompletionModel): string {
  const names = commands.map(({ name }) => name)
  return `# Completion of kopf for bash. Install it: npx kopf completion bash > ~/.local/share/bash-completion/completions/kopf
# For "npx kopf" as well: ln -s kopf ~/.local/share/bash-completion/completions/npx
${commandFinder}
_kopf_words() { COMPREPLY+=($(compgen -W "$1" -- "$word")); }
_kopf_files() { local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen "$1" -- "$word")); }
_kopf_cluster() {
  local each before=""
  case "$COMP_WORDBREAKS" in *:*) before="\${word%"\${word##*:}"}" ;; esac
  while IFS= read -r each; do
    COMPREPLY+=("$(printf %q "\${each#"$before"}")")
  done < <(_kopf_command __complete -- "\${words[@]:1}" </dev/null 2>/dev/null)
}
_kopf() {
  local -a words
  local word previous command="" each line="\${COMP_LINE:0:COMP_POINT}"
  COMPREPLY=()
  read -a words <<<"$line"
  case "$line" in *\\\\[[:space:]]) ;; *[[:space:]]) words+=("") ;; esac
  if [ "\${words[0]}" = npx ]; then
    [ "\${words[1]}" = kopf ] && [ "\${#words[@]}" -gt 2 ] || return
    words=("\${words[@]:1}")
  fi
  word="\${words[\${#words[@]}-1]}" previous="\${words[\${#words[@]}-2]}"
  case "$word" in --*=*) previous="\${word%%=*}" word="\${word#*=}" ;; esac
  for each in "\${words[@]:1:\${#words[@]}-2}"; do
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
complete -p npx >/dev/null 2>&1 || complete -o bashdefault -o default -F _kopf npx
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

function toCase({ name, options, positionals, subcommands }: CompletedCommand): string {
  const names = subcommands.map((one) => one.name)
  const others = [...positionals.slice(0, 1).map(completionsFor), ...(names.length > 0 ? [words(names)] : [])]
  const values = options.filter(({ value }) => value !== undefined)
  return `    ${name})
      case "$previous" in
${values.map((option) => `        ${option.flags.join('|')}) ${completionsFor(option.value!)}; return ;;`).join('\n')}
      esac
      case "$word" in
        -*) ${words(flagsOf(options))} ;;
        *) ${others.length === 0 ? ':' : others.join('; ')} ;;
      esac
      ;;`
}

function flagsOf(options: readonly CompletedOption[]): string[] {
  return options.flatMap(({ flags }) => flags)
}

/** All arguments are completed as the first one, except for names in a cluster: `kopf __complete` finds out which one is meant. */
function completionsFor(expected: ExpectedValue): string {
  if (isClusterValue(expected)) return '_kopf_cluster'
  if (expected === 'file') return '_kopf_files -f'
  if (expected === 'folder') return '_kopf_files -d'
  return expected === 'anything' ? ':' : words(expected)
}

/** The words need no quoting: names of commands and options consist of letters, digits and dashes. */
function words(list: readonly string[]): string {
  return `_kopf_words "${list.join(' ')}"`
}
