/** A list or a page of one, before it has a form; and the usual form, JSON text. */
import { formatGroupVersion } from '../kube/objects.ts'
import { presentText } from './present.ts'
import type { ServedResource } from './resource.ts'
import type { Stored } from './storage/stored.ts'

export interface Page {
  readonly items: readonly Stored[]
  readonly version: number
  readonly continue: string
  readonly remaining: number | undefined
}

/** The text of a list, in pieces: fifty thousand objects are not put together in one string. */
export function* listText(resource: ServedResource, page: Page): Generator<string, void, undefined> {
  const { version, remaining } = page
  const metadata = {
    // Lists of custom resources say so even where there is nothing to continue with.
    ...(page.continue === '' && !resource.isCustom ? {} : { continue: page.continue }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
    resourceVersion: String(version),
  }
  const apiVersion = formatGroupVersion(resource.group, resource.version)
  yield `${JSON.stringify({ kind: resource.listKind, apiVersion, metadata }).slice(0, -1)},"items":[`
  // Built-in kinds leave out in lists what the list has already said.
  const prefix = resource.omitsTypeInLists ? `{"apiVersion":"${apiVersion}","kind":"${resource.kind}",` : ''
  let isFirst = true
  for (const stored of page.items) {
    const text = presentText(resource, stored)
    const item = prefix !== '' && text.startsWith(prefix) ? `{${text.slice(prefix.length)}` : text
    yield isFirst ? item : `,${item}`
    isFirst = false
  }
  yield ']}\n'
}
