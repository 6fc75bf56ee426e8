/** Freezes values at every depth, at once or in slices. Does not recurse, since documents may have 10,000 levels. */
import { isContainer, type JsonContainer } from './json.ts'

/** A frozen container is assumed to be frozen at every depth: only this file freezes. */
export function deepFreeze<T>(value: T): T {
  if (isUnfrozen(value)) freezeAll([value])
  return value
}

function freezeAll(pending: JsonContainer[]): void {
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) freezeOne(next, pending)
}

function freezeOne(container: JsonContainer, pending: JsonContainer[]): void {
  pushUnfrozen(container, pending)
  Object.freeze(container)
}

/** Number of containers frozen between two reads of the clock. */
const containersPerClockCheck = 2000

/** Freezes a large value in slices, so that the event loop is not blocked. */
export class IncrementalFreeze {
  readonly #pending: JsonContainer[]

  constructor(value: object) {
    this.#pending = [value as JsonContainer]
  }

  /** Continues for about `sliceMs`; true when the value is frozen completely. */
  advance(sliceMs: number): boolean {
    const endMs = performance.now() + sliceMs
    for (let count = 1; this.#pending.length > 0; count += 1) {
      if (count % containersPerClockCheck === 0 && performance.now() >= endMs) return false
      freezeOne(this.#pending.pop()!, this.#pending)
    }
    return true
  }

  finish(): void {
    freezeAll(this.#pending)
  }
}

/** Called before the container is frozen: reading the values of a frozen object takes three times as long. */
function pushUnfrozen(container: JsonContainer, pending: JsonContainer[]): void {
  if (Array.isArray(container)) {
    for (const inner of container) if (isUnfrozen(inner)) pending.push(inner)
  } else {
    for (const key of Object.keys(container)) {
      const inner = container[key]
      if (isUnfrozen(inner)) pending.push(inner)
    }
  }
}

function isUnfrozen(value: unknown): value is JsonContainer {
  return isContainer(value) && !Object.isFrozen(value)
}
