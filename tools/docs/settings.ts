/** The settings with their types, defaults and meanings, as Markdown: from the table of knobs and the JSDoc of their types. */
import { readFileSync } from 'node:fs'
import { knobs } from '../../src/core/settings-knobs.ts'
import { SelectorMap } from '../../src/core/settings-selectors.ts'
import { toTable } from './markdown.ts'

const sources = ['settings-groups.ts', 'settings-cluster.ts']

interface Member {
  readonly type: string
  readonly meaning: string
}

/** By name, such as `settings.process`: one table for each group. */
export function describeSettings(): Readonly<Record<string, string>> {
  const interfaces = Object.assign({}, ...sources.map(readInterfaces)) as Readonly<
    Record<string, Record<string, Member>>
  >
  return Object.fromEntries(
    Object.entries(knobs).map(([group, names]) => {
      const members = interfaces[`${group.charAt(0).toUpperCase()}${group.slice(1)}Settings`]!
      const rows = Object.entries(names as Record<string, { byDefault(): unknown }>).map(([name, { byDefault }]) => {
        const { type, meaning } = members[name]!
        return [`\`${group}.${name}\``, `\`${type}\``, `\`${show(byDefault())}\``, meaning]
      })
      return [`settings.${group}`, toTable(['setting', 'type', 'default', 'meaning'], rows)]
    }),
  )
}

function show(value: unknown): string {
  if (value instanceof SelectorMap) return 'empty'
  if (Array.isArray(value)) return `[${value.join(', ')}]`
  if (typeof value === 'object' && value !== null) return `new ${value.constructor.name}()`
  return JSON.stringify(value)
}

function readInterfaces(file: string): Record<string, Record<string, Member>> {
  const text = readFileSync(new URL(`../../src/core/${file}`, import.meta.url), 'utf8')
  const interfaces = text.matchAll(/^export interface (\w+) \{\n(.*?)^\}/gms)
  return Object.fromEntries([...interfaces].map(([, name, body]) => [name!, readMembers(body!)]))
}

function readMembers(body: string): Record<string, Member> {
  const members = body.matchAll(/^ {2}\/\*\*(.*?)\*\/\n {2}(?:readonly )?(\w+): ([^\n]+)$/gms)
  return Object.fromEntries(
    [...members].map(([, words, name, type]) => [name!, { type: type!, meaning: toMeaning(words!) }]),
  )
}

/** On one line, in lower case, and without the default, which is in a column of its own. */
function toMeaning(words: string): string {
  const text = words
    .replaceAll(/^\s*\*? ?/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace('@deprecated ', '')
    .replace(/ ?Default: .*?\.(?= |$)/, '')
    .replaceAll(/(?<!`)\bnull\b/g, '`null`')
    .trim()
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`.replace(/\.$/, '')
}
