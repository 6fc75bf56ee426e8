/**
 * Parses all notations of resources into criteria. Called by selectors.ts. Throws for notations that cannot match any resource: such a
 * handler would silently never run.
 */
import { KopfError } from '../../errors.ts'
import type { Resource, ResourceLike, SelectorKeywords } from './resources.ts'

/**
 * Selects all resources: of the cluster, or of a group or version. Kubernetes events are left out, since handling posts events itself.
 *
 * @example
 * ```ts
 * kopf.on.event(EVERYTHING, ({ body }) => {})
 * kopf.on.event(['example.com', EVERYTHING], ({ body }) => {})
 * ```
 */
export const EVERYTHING: unique symbol = Symbol.for('kopf.EVERYTHING') as never
/** The type of `EVERYTHING`. */
export type Everything = typeof EVERYTHING

/** Required properties of a resource; undefined matches anything. Exactly one of `name`, `fn`, `category` and the exact names is set. */
export interface SelectorCriteria {
  readonly group?: string | undefined
  readonly version?: string | undefined
  readonly kind?: string | undefined
  readonly plural?: string | undefined
  readonly singular?: string | undefined
  readonly shortcut?: string | undefined
  readonly category?: string | undefined
  /** Any of kind, plural, singular and shortcuts. */
  readonly name?: string | Everything | undefined
  readonly fn?: ((resource: Resource) => boolean) | undefined
}

const nameKeywords = ['kind', 'plural', 'singular', 'shortcut', 'category'] as const
const keywords: readonly string[] = ['group', 'version', ...nameKeywords]

/** Versions by Kubernetes' convention. In dotted notations, any other text is a group. */
const versionPattern = /^v\d+(?:(?:alpha|beta)\d+)?$/

export function isConventionalVersion(text: string): boolean {
  return versionPattern.test(text)
}

/** Also checks types, since JavaScript users may pass any value. */
export function parseNotation(notation: ResourceLike): SelectorCriteria {
  if (typeof notation === 'string') return parseDotted(notation)
  if (notation === EVERYTHING) return { name: EVERYTHING }
  if (typeof notation === 'function') return { fn: notation }
  if (Array.isArray(notation)) return parsePositions(notation)
  if (typeof notation !== 'object' || notation === null) {
    throw selectorError(
      notation,
      'name them by a string, an array, keywords, a function, EVERYTHING, or a defined resource',
    )
  }
  if ('selector' in notation) return parseNotation(notation.selector)
  return parseKeywords(notation as SelectorKeywords)
}

/** `name`, `name.group`, `name.version`, `name.version.group`. */
function parseDotted(text: string): SelectorCriteria {
  const [name = '', ...rest] = text.split('.')
  if (text.includes('/')) throw selectorError(text, slashAdvice(text))
  if (rest.includes('')) throw selectorError(text, 'there is nothing between or after the dots')
  checkName(text, name)
  const [version, ...group] = rest
  if (version === undefined) return { name }
  if (!isConventionalVersion(version)) return { name, group: rest.join('.') }
  return group.length === 0 ? { name, version } : { name, version, group: group.join('.') }
}

function slashAdvice(text: string): string {
  const first = text.split('/')[0]!
  return first.includes('.') || isConventionalVersion(text.split('/')[1]!)
    ? `give the group and version and the name apart: ["${text}", "name"]`
    : `subresources are not served by themselves: name the resource, "${first}"`
}

/** `[name]`, `[group, name]`, `[group/version, name]`, `['v1', name]`, `[group, version, name]`. */
function parsePositions(parts: readonly unknown[]): SelectorCriteria {
  const name = parts.at(-1)
  const before = parts.slice(0, -1)
  if (parts.length < 1 || parts.length > 3)
    throw selectorError(parts, 'an array has a group, a version and a name at most')
  if (before.includes(EVERYTHING))
    throw selectorError(parts, 'EVERYTHING stands in the place of the name, which is the last')
  if (!before.every((part) => typeof part === 'string') || !(typeof name === 'string' || name === EVERYTHING)) {
    throw selectorError(parts, 'an array has strings only, and perhaps EVERYTHING as the last; a function stands alone')
  }
  if (before.length === 0) return typeof name === 'string' ? parseDotted(name) : { name }
  checkName(parts, name)
  return { ...(before.length === 1 ? parseApi(parts, before[0]!) : parseGroupAndVersion(parts, before)), name }
}

function parseApi(parts: readonly unknown[], api: string): SelectorCriteria {
  const [group = '', version, ...rest] = api.split('/')
  if (rest.length > 0 || version === '') throw selectorError(parts, `"${api}" is neither a group nor "group/version"`)
  if (version !== undefined) return { group, version }
  // The name of the core group is empty, and v1 is its only version.
  if (group === 'v1') return { group: '', version: 'v1' }
  if (isConventionalVersion(group)) {
    throw selectorError(parts, `only "v1" is a group and a version at once: write ["group/${group}", "name"]`)
  }
  return { group }
}

function parseGroupAndVersion(
  parts: readonly unknown[],
  [group = '', version = '']: readonly string[],
): SelectorCriteria {
  if (group.includes('/') || version === '' || version.includes('/')) {
    throw selectorError(parts, 'with three parts they are the group, the version and the name')
  }
  return { group, version }
}

function parseKeywords(given: SelectorKeywords): SelectorCriteria {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  for (const [key, value] of entries) {
    if (!keywords.includes(key)) throw selectorError(given, `there is no "${key}"; there are ${keywords.join(', ')}`)
    if (typeof value !== 'string') throw selectorError(given, `"${key}" is a string`)
    if (value === '' && key !== 'group') throw selectorError(given, `"${key}" must not be empty`)
  }
  const names = entries.filter(([key]) => key !== 'group' && key !== 'version').map(([key]) => key)
  if (names.length > 1) throw selectorError(given, `${names.join(' and ')} are several names: one is enough`)
  if (names.length === 0) {
    throw selectorError(
      given,
      `a name is missing: one of ${nameKeywords.join(', ')}; for a whole group, ["group", EVERYTHING]`,
    )
  }
  return Object.fromEntries(entries)
}

function checkName(notation: unknown, name: string | Everything): void {
  if (name === EVERYTHING) return
  if (name === '') throw selectorError(notation, 'the name is empty')
  if (name.includes('*'))
    throw selectorError(notation, 'names have no wildcards: EVERYTHING or a function selects several')
  if (/[\s,/]/.test(name)) throw selectorError(notation, `"${name}" is not the name of one resource`)
}

function selectorError(notation: unknown, advice: string): KopfError {
  return new KopfError('KOPF_SELECTOR', `Cannot select resources by ${formatNotation(notation)}: ${advice}`)
}

function formatNotation(value: unknown): string {
  if (typeof value === 'string') return `"${value}"`
  if (value === EVERYTHING) return 'EVERYTHING'
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value))
    return `[${value.map((part) => (Array.isArray(part) ? 'an array' : formatNotation(part))).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).map(
    ([key, field]) => `${key}: ${typeof field === 'object' ? '…' : formatNotation(field)}`,
  )
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}
