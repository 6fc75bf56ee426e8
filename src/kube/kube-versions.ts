/** The order of API versions: `v2` after `v1` after `v1beta2` after `v1alpha1`, and anything else before them. */

const pattern = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/
const stages: readonly string[] = ['alpha', 'beta', 'ga']

/** Positive where the left one is to be preferred. */
export function compareKubeVersions(left: string, right: string): number {
  const a = pattern.exec(left)
  const b = pattern.exec(right)
  if (!a || !b) {
    if (a || b) return a ? 1 : -1
    // Names that say nothing come in the order of the alphabet, the first one preferred.
    return left === right ? 0 : left < right ? 1 : -1
  }
  const stage = stages.indexOf(a[2] ?? 'ga') - stages.indexOf(b[2] ?? 'ga')
  return stage || Number(a[1]) - Number(b[1]) || Number(a[3] ?? 0) - Number(b[3] ?? 0)
}
