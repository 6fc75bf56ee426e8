/** Merges objects; later fields win. For the arguments of handlers: spreading objects with many fields takes ten times as long. */
export function assignAll(...parts: readonly object[]): object {
  return Object.assign({}, ...parts)
}
