/** Freezing values all the way down. Does not recurse: a stranger decides how deep they are. */
import { isContainer, type JsonContainer } from './json.ts'

/** What is frozen already counts as frozen all the way down: frozen things are only made here. */
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

/** Containers between two looks at the clock. */
const containersPerLook = 2000

/** The same in slices, for values so large that other work should not wait until all of it is done. */
export class Freezing {
  readonly #pending: JsonContainer[]

  constructor(value: object) {
    this.#pending = [value as JsonContainer]
  }

  /** Goes on for about so long. Whether all is frozen then. */
  advance(sliceMs: number): boolean {
    const endMs = performance.now() + sliceMs
    for (let count = 1; this.#pending.length > 0; count += 1) {
      if (count % containersPerLook === 0 && performance.now() >= endMs) return false
      freezeOne(this.#pending.pop()!, this.#pending)
    }
    return true
  }

  finish(): void {
    freezeAll(this.#pending)
  }
}

/** By their keys, and before it is frozen: the values of what is frozen already take three times as long to get at. */
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
