/**
 * Loads the CEL engine when the first expression arrives, since most servers never need it and loading takes time. Two callers
 * load it in advance: dispatch.ts for a request that may contain an expression, and open-data-dir.ts for the objects of a data
 * directory. After that, `celEngine` is synchronous.
 */
import type { ServerStore } from '../storage/store.ts'
import type * as engine from './engine.ts'

type Engine = typeof engine

/** The engine is stateless, so all servers of the process share it. */
let loaded: Engine | undefined

export async function loadCel(): Promise<void> {
  loaded ??= await import('./engine.ts')
}

export function celEngine(): Engine {
  if (!loaded) throw new Error('CEL is not loaded: call loadCel before an expression is compiled')
  return loaded
}

/** Collections whose objects can contain expressions, and the field that contains them. */
const expressionFields: Readonly<Record<string, string>> = {
  'customresourcedefinitions.apiextensions.k8s.io': 'x-kubernetes-validations',
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': 'matchConditions',
  'admissionregistration.k8s.io/validatingwebhookconfigurations': 'matchConditions',
}

/** True if objects of this collection can contain expressions. */
export function canHoldExpressions(collection: string): boolean {
  return Object.hasOwn(expressionFields, collection)
}

/**
 * Loads the engine if a stored object contains an expression. The text search is safe because the server's own JSON escapes no
 * letters.
 */
export async function loadCelFor(store: ServerStore): Promise<void> {
  for (const [collection, field] of Object.entries(expressionFields)) {
    for (const { json } of store.collection(collection).values()) {
      if (json.includes(`"${field}"`)) return loadCel()
    }
  }
}
