/** One object of several: what comes later wins. Spreading objects of many fields takes ten times as long, for every call. */
export function join(...parts: readonly object[]): object {
  return Object.assign({}, ...parts)
}
