/** The address of a view in the fragment of the URL: `#/objects?state=failed`. Every view and every filter can be linked, under any path prefix. */
import { signal } from '@preact/signals'
import type { ObjectRef, ViewName } from '../dashboard/protocol.ts'

export interface ViewAddress {
  readonly view: ViewName
  readonly query: Readonly<Record<string, string>>
}

const views: readonly ViewName[] = ['overview', 'objects', 'object', 'handlers', 'requests', 'webhooks', 'problems']

export const route = signal<ViewAddress>(parseRoute(''))

/** Unknown views lead to the overview: the address may come from a link that another version has written. */
function parseRoute(hash: string): ViewAddress {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split('?')
  const view = views.find((name) => name === path) ?? 'overview'
  return { view, query: Object.fromEntries(new URLSearchParams(search)) }
}

/** Fields without a value are left out. */
export function toHash(view: ViewName, query: Readonly<Record<string, string | undefined>> = {}): string {
  const search = toSearch(query)
  return `#/${view}${search === '' ? '' : `?${search}`}`
}

export function toSearch(query: Readonly<Record<string, string | undefined>>): string {
  const filled = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
  return new URLSearchParams(filled).toString()
}

export function hashOf({ resource, namespace, name }: ObjectRef): string {
  return toHash('object', { resource, namespace, name })
}

export function watchRoute(): void {
  const read = () => {
    route.value = parseRoute(location.hash)
  }
  addEventListener('hashchange', read)
  read()
}

export function goTo(view: ViewName): void {
  location.hash = toHash(view)
}

/** Changes the filters of the present view without a new entry in the history of the browser. */
export function changeQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { view, query } = route.value
  const hash = toHash(view, { ...query, ...changes })
  history.replaceState(null, '', hash)
  route.value = parseRoute(hash)
}
