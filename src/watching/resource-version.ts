/**
 * Compares resource versions. Kubernetes (1.35, KEP-5504) guarantees that versions of one resource are decimal numbers of any
 * length that can be compared. They may exceed the range of `Number`, so they are compared as strings. Versions that are not
 * decimal numbers are never compared.
 */

const decimal = /^(?:0|[1-9]\d*)$/

/** Whether the version is a decimal number. */
export function isComparable(version: string | undefined): boolean {
  return version !== undefined && decimal.test(version)
}

/** Whether a version is certainly lower than another one. */
export function isOlder(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined || version === than) return false
  if (!isComparable(version) || !isComparable(than)) return false
  return version.length === than.length ? version < than : version.length < than.length
}

/** The higher of two versions; the second one if they cannot be compared. */
export function laterVersion(known: string | undefined, next: string): string {
  return known !== undefined && isOlder(next, known) ? known : next
}
