/**
 * Derives the selectors of a watch from the label filters that all handlers of a resource share, and from the settings, so that
 * the server sends fewer objects. Pure. It does not know the filters of handlers: the caller converts each label filter into a
 * `LabelPattern`.
 */
import type { Resource } from '../kube/resources/resources.ts'

/** Selectors of list and watch queries. An absent selector selects all objects. */
export interface WatchSelectors {
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly shardSelector?: string
}

/** A label requirement of a handler. `unknown`: a function decides, and may also accept objects without the label. */
export type LabelPattern = { readonly equals: string } | 'present' | 'absent' | 'unknown'

export interface LabelledHandler {
  /** Undefined if the handler has no label filter. */
  readonly labels: Readonly<Record<string, LabelPattern>> | undefined
}

/** The configured selectors that apply to a resource, in the order of the settings. */
interface SelectorsByResource {
  match(resource: Resource): readonly string[]
}

export interface SelectorSettings {
  readonly labelSelectors: SelectorsByResource
  readonly fieldSelectors: SelectorsByResource
  readonly shardSelectors: SelectorsByResource
}

/**
 * Returns selectors that match every object that any of the handlers could match. `handlers` must be all handlers of the
 * resource.
 */
export function sharedSelectors(
  handlers: readonly LabelledHandler[],
  settings: SelectorSettings,
  resource: Resource,
): WatchSelectors {
  const labelSelector = join([...sharedRequirements(handlers), ...settings.labelSelectors.match(resource)])
  const fieldSelector = join(settings.fieldSelectors.match(resource))
  const shardSelector = settings.shardSelectors.match(resource)[0]
  return {
    ...(labelSelector === '' ? {} : { labelSelector }),
    ...(fieldSelector === '' ? {} : { fieldSelector }),
    ...(shardSelector === undefined || shardSelector === '' ? {} : { shardSelector }),
  }
}

function join(selectors: readonly string[]): string {
  return [...new Set(selectors)]
    .filter((selector) => selector !== '')
    .sort()
    .join(',')
}

/** Requirements that all handlers share. An object that matches any of the handlers also meets these requirements. */
function sharedRequirements(handlers: readonly LabelledHandler[]): string[] {
  const labels = handlers.map((handler) => new Map(Object.entries(handler.labels ?? {})))
  return [...(labels[0]?.keys() ?? [])].flatMap((key) => {
    const patterns = labels.map((patternsOfOne) => patternsOfOne.get(key) ?? 'unknown')
    return isLabelKey(key) ? (requirementOf(key, patterns) ?? []) : []
  })
}

/** Maximum number of values in an `in (…)` requirement. With more values, the URL could become too long for servers and proxies. */
const maxValues = 20

function requirementOf(key: string, patterns: readonly LabelPattern[]): string | undefined {
  if (patterns.every((pattern) => pattern === 'absent')) return `!${key}`
  if (patterns.some((pattern) => pattern === 'absent' || pattern === 'unknown')) return undefined
  const values = patterns.flatMap((pattern) => (typeof pattern === 'object' ? [pattern.equals] : []))
  // The server rejects a watch whose selector has an invalid label value.
  if (!values.every(isLabelValue)) return undefined
  const distinct = [...new Set(values)].sort()
  if (values.length < patterns.length || distinct.length > maxValues) return key
  return distinct.length === 1 ? `${key}=${distinct[0]}` : `${key} in (${distinct.join(',')})`
}

const namePart = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const prefixPart = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/

function isLabelKey(key: string): boolean {
  const parts = key.split('/')
  if (parts.length > 2 || !namePart.test(parts.at(-1)!)) return false
  return parts.length === 1 || (parts[0]!.length <= 253 && prefixPart.test(parts[0]!))
}

function isLabelValue(value: string): boolean {
  return value === '' || namePart.test(value)
}
