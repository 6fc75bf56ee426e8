/** A list or one page of a list, and its JSON text. */
import { formatGroupVersion } from '../kube/objects.ts'
import { presentText } from './present.ts'
import type { ApiResource } from './resource.ts'
import type { Stored } from './storage/stored.ts'

export interface ListPage {
  readonly items: readonly Stored[]
  readonly version: number
  readonly continue: string
  readonly remaining: number | undefined
}

/** Yields the text of a list in pieces, so that a list of fifty thousand objects is not built as one string. */
export function* listText(resource: ApiResource, page: ListPage): Generator<string, void, undefined> {
  const { version, remaining } = page
  const metadata = {
    // Lists of custom resources have `continue` even if it is empty.
    ...(page.continue === '' && !resource.isCustom ? {} : { continue: page.continue }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
    resourceVersion: String(version),
  }
  const apiVersion = formatGroupVersion(resource.group, resource.version)
  yield `${JSON.stringify({ kind: resource.listKind, apiVersion, metadata }).slice(0, -1)},"items":[`
  // Items of built-in kinds omit apiVersion and kind.
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
