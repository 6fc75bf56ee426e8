/** The reference of the command line as Markdown, generated from the command tree that also prints `--help`. */
import type { Command } from 'commander'
import { createProgram } from '../../src/cli/program.ts'
import { toTable } from './markdown.ts'

/** By command name, such as `kopf run`: usage, options and examples; and under `commands` a list of all commands. */
export function describeCommands(): Readonly<Record<string, string>> {
  const program = createProgram()
  const commands = Object.fromEntries(allCommands(program).map((command) => [nameOf(command), describe(command)]))
  return { commands: overview(program), ...commands }
}

/** Adds a section to the page for every command that has none yet. */
export function addMissingCommands(page: string): string {
  const missing = allCommands(createProgram()).filter((command) => !page.includes(`\n## ${nameOf(command)}\n`))
  const sections = missing.map(
    (command) =>
      `\n## ${nameOf(command)}\n\n${command.description()}\n\n<!-- generated: ${nameOf(command)} -->\n<!-- end -->\n`,
  )
  return `${page}${sections.join('')}`
}

/** The commands of the program, each followed by the commands below it. */
function allCommands(program: Command): Command[] {
  return program.commands.flatMap((command) => [command, ...command.commands])
}

/** `kopf crd migrate` */
function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`
}

function overview(program: Command): string {
  const rows = allCommands(program).map((command) => [
    `[\`${nameOf(command)}\`](#${nameOf(command).replaceAll(' ', '-')})`,
    command.summary() || command.description(),
  ])
  return toTable(['command', 'what it does'], [...rows, ['`kopf help [command]`', 'print the help of a command']])
}

function describe(command: Command): string {
  const { environment, examples } = readHelp(command)
  const usage = `\`\`\`\n${nameOf(command)} ${command
    .usage()
    .replace(/^\[options\] ?/, '')
    .replace('[command] ', '')} [options]\n\`\`\``.replace(/ {2,}/g, ' ')
  const args = command.registeredArguments
    .filter(({ description }) => description !== '')
    .map((argument) => toRow(argument.name(), argument))
  const options = command.options.map((option) => toRow(option.flags, option, environment.get(option.long ?? '')))
  const parts = [
    usage,
    ...(args.length === 0 ? [] : [toTable(['argument', 'meaning', 'default'], args)]),
    ...(options.length === 0 ? [] : [toTable(['option', 'meaning', 'default', 'environment'], options)]),
    ...(examples.length === 0 ? [] : [`\`\`\`shell\n${examples.join('\n')}\n\`\`\``]),
  ]
  return parts.join('\n\n')
}

/** An argument or option of commander. */
interface HelpEntry {
  readonly description: string
  readonly defaultValue?: unknown
  readonly defaultValueDescription?: string | undefined
  readonly argChoices?: readonly string[] | undefined
}

function toRow(name: string, entry: HelpEntry, variable = ''): string[] {
  const [, meaning, inWords = entry.defaultValueDescription] = /^(.*?)(?: \(default: (.*)\))?$/s.exec(
    entry.description,
  )!
  const value = typeof entry.defaultValue === 'boolean' ? undefined : entry.defaultValue
  const choices = entry.argChoices === undefined ? '' : `: ${entry.argChoices.map(code).join(', ')}`
  const byDefault = inWords ?? (value === undefined ? '' : code(String(value)))
  return [code(name), withCode(`${meaning}${choices}`), withCode(byDefault), variable]
}

/** Commander has no fields for examples and environment variables, so they are parsed from the printed help. */
function readHelp(command: Command): { environment: Map<string, string>; examples: string[] } {
  let help = ''
  command.configureOutput({
    writeOut: (text) => (help += text),
    getOutHelpWidth: () => 1000,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  const lines = help.split('\n')
  const environment = new Map<string, string>()
  for (const line of lines) {
    const [, variable, option] = /^ {2}(KOPF_\w+) .*?(--[\w-]+)/.exec(line) ?? []
    if (variable !== undefined)
      environment.set(option!, [environment.get(option!), code(variable)].filter(Boolean).join(', '))
  }
  const beginning = lines.indexOf('Examples:')
  const examples = beginning < 0 ? [] : lines.slice(beginning + 1)
  const end = examples.findIndex((line) => !line.startsWith('  $ '))
  return { environment, examples: (end < 0 ? examples : examples.slice(0, end)).map((line) => line.slice(4)) }
}

function code(text: string): string {
  return `\`${text}\``
}

/** Puts backticks around options, variables, files and patterns, also so that Markdown does not interpret them. */
function withCode(text: string): string {
  return text.replaceAll(
    /(?<!`)(--[a-z][\w-]*(?: \d+)?|\[[\w/]+\]|https?:\/\/[^\s,]+|~\/[\w./]+|\b[A-Z]+_[A-Z]+\b|\bKUBECONFIG\b|\bdefineResource\b|(?<= )\/[a-z]+\b)(?!`)/g,
    '`$1`',
  )
}
