/** Reads the managed fields of a response, which most suites do not compare, and sends server-side apply requests. */
import type { Answer, Body, Tree } from './answers.ts'
import type { Api } from './api.ts'

export interface Entry {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly time?: string
  readonly fieldsType: string
  readonly fieldsV1: Tree
  readonly subresource?: string
}

export function entriesOf({ text }: Answer): Entry[] {
  const { metadata } = JSON.parse(text) as Body
  return (metadata['managedFields'] ?? []) as Entry[]
}

/** The managed fields by manager, operation and subresource: `{ 'kubectl Apply': {…}, 'a Update status': {…} }`. */
export function ownersOf(answer: Answer): Tree {
  const entries = entriesOf(answer).map((entry) => {
    const { manager, operation, subresource = '' } = entry
    return [`${manager} ${operation} ${subresource}`.trim(), entry.fieldsV1]
  })
  return Object.fromEntries(entries) as Tree
}

export interface ApplyOptions {
  readonly as?: string
  readonly force?: boolean
  readonly query?: string
}

export function apply(api: Api, path: string, body: unknown, options: ApplyOptions = {}): Promise<Answer> {
  const { as = 'applier', force = false, query = '' } = options
  const whole = `fieldManager=${encodeURIComponent(as)}${force ? '&force=true' : ''}${query === '' ? '' : `&${query}`}`
  return api.request('PATCH', path, { body, query: whole, contentType: 'application/apply-patch+yaml' })
}
