/** The completion script for zsh. */
import type { CompletedCommand, CompletedOption, CompletionModel, ExpectedValue } from './model.ts'

export function toZsh({ commands, options }: CompletionModel): string {
  return `#compdef kopf
# Completion of kopf for zsh. Install it in a folder of fpath: kopf completion zsh > ~/.zfunc/_kopf
_kopf() {
  local context state line
  typeset -A opt_args
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
if [ "$funcstack[1]" = _kopf ]; then _kopf "$@"; else compdef _kopf kopf; fi
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

function toArguments({ options, positional, subcommands }: CompletedCommand): string {
  const names = subcommands.map((one) => one.name)
  return `_arguments ${[...options.flatMap(toSpecs), ...positionals(positional, names)].join(' \\\n            ')}`
}

function positionals(expected: ExpectedValue, names: readonly string[]): string[] {
  const other = names.length === 0 ? [] : [quote(`1: :{ compadd ${names.join(' ')}; ${action(expected)} }`)]
  return expected.length === 0 ? other : [...other, quote(`*: :${action(expected)}`)]
}

/** `'(-q --quiet)'{-q,--quiet}'[only warnings]'`. The spec of a repeatable option starts with a star and excludes no other flag. */
function toSpecs({ flags, description, value, isRepeatable }: CompletedOption): string[] {
  const text = description.replaceAll(/[[\]:\\]/g, '\\$&')
  const rest = `[${text}]${value === undefined ? '' : `: :${action(value)}`}`
  const before = isRepeatable ? '*' : flags.length > 1 ? `(${flags.join(' ')})` : ''
  return flags.map((flag) => quote(`${before}${flag}${rest}`))
}

function action(expected: ExpectedValue): string {
  if (expected === 'file') return '_files'
  return expected === 'anything' ? ' ' : `(${expected.join(' ')})`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
