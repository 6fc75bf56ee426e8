/** The completion script for fish. */
import type { CompletedCommand, CompletedOption, CompletionModel, ExpectedValue } from './model.ts'

export function toFish({ commands, options }: CompletionModel): string {
  const names = commands.map(({ name }) => name).join(' ')
  const atStart = `not __fish_seen_subcommand_from ${names}`
  return [
    '# Completion of kopf for fish. Install it: kopf completion fish > ~/.config/fish/completions/kopf.fish',
    'complete -c kopf -f',
    ...commands.map(({ name, description }) => line(atStart, `-a ${name} -d ${quote(description)}`)),
    ...options.map((option) => line(atStart, toFlags(option))),
    ...commands.flatMap(toLines),
    '',
  ].join('\n')
}

function toLines(command: CompletedCommand): string[] {
  const { name, subcommands } = command
  const inside = `__fish_seen_subcommand_from ${name}`
  if (subcommands.length === 0) return toOwnLines(command, inside)
  const isNested = `__fish_seen_subcommand_from ${subcommands.map((one) => one.name).join(' ')}`
  const outside = `${inside}; and not ${isNested}`
  return [
    ...toOwnLines(command, outside),
    ...subcommands.map((one) => line(outside, `-a ${one.name} -d ${quote(one.description)}`)),
    ...subcommands.flatMap((one) => toOwnLines(one, `${inside}; and __fish_seen_subcommand_from ${one.name}`)),
  ]
}

function toOwnLines({ options, positional }: CompletedCommand, condition: string): string[] {
  const words = completionsFor(positional)
  return [...(words === '' ? [] : [line(condition, words)]), ...options.map((one) => line(condition, toFlags(one)))]
}

function toFlags({ flags, description, value }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  // "-x" requires a value and suppresses files, which fish would offer together with the words.
  const rest = value === undefined ? [] : [value === 'file' ? '-r' : '-x', completionsFor(value)]
  return [...names, ...rest, `-d ${quote(description)}`].filter((part) => part !== '').join(' ')
}

function completionsFor(expected: ExpectedValue): string {
  if (expected === 'file') return '-F'
  return expected === 'anything' || expected.length === 0 ? '' : `-a ${quote(expected.join(' '))}`
}

function line(condition: string, rest: string): string {
  return `complete -c kopf -n ${quote(condition)} ${rest}`
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
