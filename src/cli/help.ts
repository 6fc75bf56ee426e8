/** Additions to commander's help: headings, defaults, examples, environment variables, and options with a choice of values. */
import { Argument, type Command, type HelpConfiguration, InvalidArgumentError, Option } from 'commander'
import { suggestName } from '../util/text/did-you-mean.ts'
import { createPalette } from './display/colours.ts'
import { type Variable, variableName } from './environment.ts'

/** Commander removes the style where the output is no terminal, and with `NO_COLOR`. */
export const styleHeading: (heading: string) => string = createPalette(true).bold

/** Headings in bold; choices and defaults in one form, whether commander knows them or only the description does. */
export const helpConfiguration: HelpConfiguration = {
  subcommandTerm: (command) => command.name(),
  styleTitle: styleHeading,
  optionDescription: describeEntry,
  argumentDescription: describeEntry,
}

/** `the format of log lines: full, plain, json (default: full)` */
function describeEntry(entry: Option | Argument): string {
  const { description, argChoices, defaultValue, defaultValueDescription } = entry
  const [, meaning, inWords] = /^(.*?)(?: \(default: (.*)\))?$/s.exec(description)!
  const isShown = defaultValue !== undefined && typeof defaultValue !== 'boolean'
  const byDefault = inWords ?? defaultValueDescription ?? (isShown ? String(defaultValue) : undefined)
  const choices = argChoices === undefined ? '' : `: ${argChoices.join(', ')}`
  return `${meaning}${choices}${byDefault === undefined ? '' : ` (default: ${byDefault})`}`
}

export function addExamples(command: Command, examples: readonly string[]): Command {
  const lines = examples.map((example) => `  $ ${example}`)
  return command.addHelpText('after', `\n${styleHeading('Examples:')}\n${lines.join('\n')}`)
}

/** A conventional environment variable and its meaning. */
export type Convention = readonly [name: string, meaning: string]

/** The variables of commands that log. */
export const colourConventions: readonly Convention[] = [
  ['NO_COLOR', 'with any value: no colours at a terminal'],
  ['FORCE_COLOR', '0: no colours; 1: colours at any terminal'],
]

export interface EnvironmentOptions {
  readonly conventions?: readonly Convention[]
  readonly remarks: readonly string[]
}

/** Adds a table of the variables and their options, wrapped to the width of the terminal. */
export function addEnvironment(
  command: Command,
  variables: readonly Variable[],
  { conventions = [], remarks }: EnvironmentOptions,
): Command {
  return command.addHelpText('after', ({ error }) => {
    const help = command.createHelp()
    const output = command.configureOutput()
    const width = (error ? output.getErrHelpWidth?.() : output.getOutHelpWidth?.()) ?? 80
    help.prepareContext({ helpWidth: width })
    const own = variables.map((variable) => [variableName(command, variable), describe(command, variable)] as const)
    const terms = [...own, ...conventions]
    const termWidth = Math.max(...terms.map(([term]) => term.length))
    const items = terms.map(([term, description]) => help.formatItem(term, termWidth, description, help))
    return ['', styleHeading('Environment:'), ...items, ...remarks.map((one) => help.boxWrap(`  ${one}`, width))].join(
      '\n',
    )
  })
}

function describe(command: Command, { option, type }: Variable): string {
  const { long } = command.options.find((one) => one.attributeName() === option && !one.negate)!
  const hints = {
    flag: `true or false for ${long}`,
    list: `as ${long}, with spaces between several`,
    text: `as ${long}`,
  }
  return hints[type]
}

/** An option with a choice of values. Ignores the case; suggests the closest value for a typing error. */
export function choiceOption(flags: string, description: string, choices: readonly string[]): Option {
  return new Option(flags, description).choices(choices).argParser((text) => choose(text, choices))
}

export function choiceArgument(name: string, description: string, choices: readonly string[]): Argument {
  return new Argument(name, description).choices(choices).argParser((text) => choose(text, choices))
}

function choose(text: string, choices: readonly string[]): string {
  return choices.find((one) => one === text.toLowerCase()) ?? throwInvalidChoice(text, choices)
}

function throwInvalidChoice(text: string, choices: readonly string[]): never {
  const suggestion = suggestName(text, choices)
  const hint = suggestion === undefined ? '' : ` Did you mean ${suggestion}?`
  throw new InvalidArgumentError(`Expected one of ${choices.join(', ')}.${hint}`)
}
