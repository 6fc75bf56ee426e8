/** The completion script for fish. */
import {
  type CompletedCommand,
  type CompletedOption,
  type CompletionModel,
  type ExpectedValue,
  isClusterValue,
} from './model.ts'

/** The command that answers, as in shell-functions.ts. `complete -C` completes the line without `npx`. */
const functions = `function __kopf_command
    set -l folder $PWD
    while not test -x "$folder/node_modules/.bin/kopf"
        if test -z "$folder"
            command kopf $argv
            return
        end
        set folder (string replace -r '/[^/]*$' '' -- $folder)
    end
    "$folder/node_modules/.bin/kopf" $argv
end
function __kopf_cluster
    set -l words (commandline -opc) (commandline -ct)
    __kopf_command __complete -- $words[2..-1] </dev/null 2>/dev/null
end
function __kopf_is_npx
    set -l words (commandline -opc)
    test "$words[2]" = kopf
end
function __kopf_npx
    complete -C (string replace -r '^\\s*npx\\s+' '' -- (commandline -cp))
end`

export function toFish({ commands, options }: CompletionModel): string {
  const names = commands.map(({ name }) => name).join(' ')
  const atStart = `not __fish_seen_subcommand_from ${names}`
  return [
    '# Completion of kopf for fish, also as "npx kopf". Install it: npx kopf completion fish > ~/.config/fish/completions/kopf.fish',
    '# For "npx kopf" as well: ln -s kopf.fish ~/.config/fish/completions/npx.fish',
    functions,
    'complete -c kopf -f',
    "complete -c npx -n __kopf_is_npx -f -a '(__kopf_npx)'",
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

function toOwnLines({ options, positionals }: CompletedCommand, condition: string): string[] {
  const words = positionals.slice(0, 1).map(completionsFor)
  return [...words, ...options.map(toFlags)].filter((rest) => rest !== '').map((rest) => line(condition, rest))
}

function toFlags({ flags, description, value }: CompletedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  // "-x" requires a value and suppresses files, which fish would offer together with the words.
  const rest = value === undefined ? [] : [value === 'file' ? '-r' : '-x', completionsFor(value)]
  return [...names, ...rest, `-d ${quote(description)}`].filter((part) => part !== '').join(' ')
}

function completionsFor(expected: ExpectedValue): string {
  if (isClusterValue(expected)) return "-a '(__kopf_cluster)'"
  if (expected === 'file') return '-F'
  if (expected === 'folder') return "-a '(__fish_complete_directories)'"
  return expected === 'anything' ? '' : `-a ${quote(expected.join(' '))}`
}

function line(condition: string, rest: string): string {
  return `complete -c kopf -n ${quote(condition)} ${rest}`
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
