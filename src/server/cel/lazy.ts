/**
 * Loads the CEL engine when the first expression arrives: most servers never need it, and its code takes time to load. Two callers
 * load it before anything can ask for it: dispatch.ts for a request that may bring an expression, and kept-data.ts for the
 * objects of a data directory. `celEngine` is synchronous from then on.
 */
import type { Store } from '../storage/store.ts'
import type * as engine from './engine.ts'

type Engine = typeof engine

/** The engine holds code and no state, so all servers of the process share it. */
let loaded: Engine | undefined

export async function loadCel(): Promise<void> {
  loaded ??= await import('./engine.ts')
}

export function celEngine(): Engine {
  if (!loaded) throw new Error('CEL is not loaded: call loadCel before an expression is compiled')
  return loaded
}

/** The field that holds expressions, by the collection of the objects that have it. */
const expressionFields: Readonly<Record<string, string>> = {
  'customresourcedefinitions.apiextensions.k8s.io': 'x-kubernetes-validations',
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': 'matchConditions',
  'admissionregistration.k8s.io/validatingwebhookconfigurations': 'matchConditions',
}

/** Whether objects of this collection can hold expressions. */
export function canHoldExpressions(collection: string): boolean {
  return Object.hasOwn(expressionFields, collection)
}

/** Loads the engine if an object of the store holds an expression. Stored JSON is written by the server, which escapes no letters. */
export async function loadCelFor(store: Store): Promise<void> {
  for (const [collection, field] of Object.entries(expressionFields)) {
    for (const { json } of store.collection(collection).values()) {
      if (json.includes(`"${field}"`)) return loadCel()
    }
  }
}
