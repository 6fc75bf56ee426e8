/**
 * Resource versions as the numbers they are: Kubernetes promises that those of one resource can be compared, as decimal
 * numbers of any length (so not by `Number`). What is no such number is not compared at all.
 */

const decimal = /^(?:0|[1-9]\d*)$/

/** Whether it says what came first. */
export function isComparable(version: string | undefined): boolean {
  return version !== undefined && decimal.test(version)
}

/** Whether a version is certainly lower than another. */
export function isOlder(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined || version === than) return false
  if (!isComparable(version) || !isComparable(than)) return false
  return version.length === than.length ? version < than : version.length < than.length
}

/** The higher of the two; the second where they cannot be compared. */
export function laterVersion(known: string | undefined, next: string): string {
  return known !== undefined && isOlder(next, known) ? known : next
}
