/**
 * Which objects the server is asked for: what all handlers of a resource require of labels, and what the settings say.
 * Pure. The filters of handlers are not known here: the caller says what each label pattern amounts to.
 */
import type { Resource } from '../kube/resources/resources.ts'

/** Ready for a query; absent for all objects. */
export interface WatchSelectors {
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly shardSelector?: string
}

/** `unknown`: whatever a function decides; also the absence may be what it wants. */
export type LabelPattern = { readonly equals: string } | 'present' | 'absent' | 'unknown'

export interface LabelledHandler {
  /** Undefined where the labels do not matter. */
  readonly labels: Readonly<Record<string, LabelPattern>> | undefined
}

/** The values that apply to a resource, in the order they were set. */
interface SelectorsByResource {
  match(resource: Resource): readonly string[]
}

export interface SelectorSettings {
  readonly labelSelectors: SelectorsByResource
  readonly fieldSelectors: SelectorsByResource
  readonly shardSelectors: SelectorsByResource
}

/** `handlers` are all that concern the resource; none of them misses an object that they could match. */
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

/** An object that any one handler wants must pass all of them. */
function sharedRequirements(handlers: readonly LabelledHandler[]): string[] {
  const labels = handlers.map((handler) => new Map(Object.entries(handler.labels ?? {})))
  return [...(labels[0]?.keys() ?? [])].flatMap((key) => {
    const patterns = labels.map((patternsOfOne) => patternsOfOne.get(key) ?? 'unknown')
    return isLabelKey(key) ? (requirementOf(key, patterns) ?? []) : []
  })
}

/** With more values than this, the address of the request would grow too long for servers and proxies. */
const maxValues = 20

function requirementOf(key: string, patterns: readonly LabelPattern[]): string | undefined {
  if (patterns.every((pattern) => pattern === 'absent')) return `!${key}`
  if (patterns.some((pattern) => pattern === 'absent' || pattern === 'unknown')) return undefined
  const values = patterns.flatMap((pattern) => (typeof pattern === 'object' ? [pattern.equals] : []))
  // What no label can be is refused by the server, and with it the whole watch.
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
