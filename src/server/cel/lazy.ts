/**
 * Loads CEL when the first rule or condition comes: most servers never need it, and all want to start at once. Requests that
 * could bring an expression wait for it in dispatch.ts; from there on it is there for whoever asks.
 */
import type * as engine from './engine.ts'

type Engine = typeof engine

/** Code, and the same for all servers of the process. */
let loaded: Engine | undefined

export async function loadCel(): Promise<void> {
  loaded ??= await import('./engine.ts')
}

export function celEngine(): Engine {
  if (!loaded) throw new Error('CEL is not loaded: whoever accepts an expression has to load it first')
  return loaded
}
