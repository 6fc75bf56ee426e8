/** The completion script for zsh. */
import {
  type CompletedCommand,
  type CompletedOption,
  type CompletionModel,
  type ExpectedValue,
  isClusterValue,
} from './model.ts'
import { commandFinder } from './shell-functions.ts'

export function toZsh({ commands, options }: CompletionModel): string {
  return `#compdef kopf npx
# Completion of kopf for zsh, also as "npx kopf". Install it in a folder of fpath: npx kopf completion zsh > ~/.zfunc/_kopf
${commandFinder}
_kopf_cluster() {
  local -a found
  found=("\${(@f)$(_kopf_command __complete -- "\${(@Q)words[1,CURRENT]}" </dev/null 2>/dev/null)}")
  compadd -a found
}
_kopf() {
  local context state line
  typeset -A opt_args
  if [ "$words[1]" = npx ]; then
    if [ "$words[2]" != kopf ] || (( CURRENT < 3 )); then _default; return; fi
    shift words
    (( CURRENT -= 1 ))
  fi
  _arguments -C ${options.flatMap(toSpecs).join(' ')} '1: :->command' '*:: :->arguments'
  case "$state" in
    command)
      local -a commands
      commands=(${commands.map(({ name, description }) => quote(`${name}:${description}`)).join(' ')})
      _describe command commands
      ;;
    arguments)
      case "$line[1]" in
${commands.map(toCase).join('\n')}
      esac
      ;;
  esac
}
if [ "$funcstack[1]" = _kopf ]; then _kopf "$@"; else compdef _kopf kopf npx; fi
`
}

function toCase(command: CompletedCommand): string {
  const { name, subcommands } = command
  const nested = subcommands.map(
    (one) => `if [[ "$words[2]" == ${one.name} && $CURRENT -gt 2 ]]; then
            shift words; (( CURRENT-- ))
            ${toArguments(one)}
            return
          fi
          `,
  )
  return `        ${name})
          ${nested.join('')}${toArguments(command)}
          ;;`
}

function toArguments({ options, positionals, subcommands }: CompletedCommand): string {
  const names = subcommands.map((one) => one.name)
  return `_arguments ${[...options.flatMap(toSpecs), ...toPositionals(positionals, names)].join(' \\\n            ')}`
}

/** All arguments are completed as the first one; the first one may also be the name of a command. */
function toPositionals([first]: readonly ExpectedValue[], names: readonly string[]): string[] {
  const values = first === undefined ? ' ' : action(first)
  const other = names.length === 0 ? [] : [quote(`1: :{ compadd ${names.join(' ')}; ${values} }`)]
  return first === undefined ? other : [...other, quote(`*: :${values}`)]
}

/** `'(-q --quiet)'{-q,--quiet}'[only warnings]'`. The spec of a repeatable option starts with a star and excludes no other flag. */
function toSpecs({ flags, description, value, isRepeatable }: CompletedOption): string[] {
  const text = description.replaceAll(/[[\]:\\]/g, '\\$&')
  const rest = `[${text}]${value === undefined ? '' : `: :${action(value)}`}`
  const before = isRepeatable ? '*' : flags.length > 1 ? `(${flags.join(' ')})` : ''
  // With "=", the value may be in the same word: --context=dev.
  const toFlag = (flag: string) => (value !== undefined && flag.startsWith('--') ? `${flag}=` : flag)
  return flags.map((flag) => quote(`${before}${toFlag(flag)}${rest}`))
}

function action(expected: ExpectedValue): string {
  if (isClusterValue(expected)) return '_kopf_cluster'
  if (expected === 'file') return '_files'
  if (expected === 'folder') return '_files -/'
  return expected === 'anything' ? ' ' : `(${expected.join(' ')})`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
