/** The priority of API versions as in Kubernetes: `v2` > `v1` > `v1beta2` > `v1alpha1` > other names. Used by crd.ts and the server. */

const pattern = /^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$/
const stages: readonly string[] = ['alpha', 'beta', 'ga']

/** Positive if the left version has the higher priority. */
export function compareKubeVersions(left: string, right: string): number {
  const a = pattern.exec(left)
  const b = pattern.exec(right)
  if (!a || !b) {
    if (a || b) return a ? 1 : -1
    // Other names are sorted alphabetically; the first one has the highest priority.
    return left === right ? 0 : left < right ? 1 : -1
  }
  const stage = stages.indexOf(a[2] ?? 'ga') - stages.indexOf(b[2] ?? 'ga')
  return stage || Number(a[1]) - Number(b[1]) || Number(a[3] ?? 0) - Number(b[3] ?? 0)
}
