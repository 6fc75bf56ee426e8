/** The settings with types, defaults and meanings as Markdown, generated from the table of settings and the JSDoc of their types. */
import { readFileSync } from 'node:fs'
import { settingSpecs } from '../../src/settings/schema.ts'
import { SelectorMap } from '../../src/settings/selector-map.ts'
import { toTable } from './markdown.ts'

const sources = ['groups.ts']

interface Member {
  readonly type: string
  readonly meaning: string
}

/** One table for each group of settings, by name, such as `settings.process`. */
export function describeSettings(): Readonly<Record<string, string>> {
  const interfaces = Object.assign({}, ...sources.map(readInterfaces)) as Readonly<
    Record<string, Record<string, Member>>
  >
  return Object.fromEntries(
    Object.entries(settingSpecs).map(([group, names]) => {
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
  const text = readFileSync(new URL(`../../src/settings/${file}`, import.meta.url), 'utf8')
  const interfaces = text.matchAll(/^(?:export )?interface (\w+) \{\n(.*?)^\}/gms)
  return Object.fromEntries([...interfaces].map(([, name, body]) => [name!, readMembers(body!)]))
}

function readMembers(body: string): Record<string, Member> {
  const members = body.matchAll(/^ {2}\/\*\*(.*?)\*\/\n {2}(?:readonly )?(\w+): ([^\n]+)$/gms)
  return Object.fromEntries(
    [...members].map(([, words, name, type]) => [name!, { type: type!, meaning: toMeaning(words!) }]),
  )
}

/** The JSDoc on one line, starting in lower case, without the default, which has its own column. */
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
