/** Many names, so that they fit on a screen. Pure. */
import { toNumber } from './words.ts'

const mostNames = 20
const mostOfResource = 5

/** Of `resource/name`: where there are too many, those of a resource become their number, in the place of the first. */
export function summarizeNames(names: readonly string[]): readonly string[] {
  if (names.length <= mostNames) return names
  const byResource = new Map<string, string[]>()
  for (const name of names) {
    const resource = name.slice(0, name.indexOf('/'))
    const all = byResource.get(resource) ?? []
    all.push(name)
    byResource.set(resource, all)
  }
  return [...byResource].flatMap(([resource, all]) =>
    all.length <= mostOfResource ? all : [`${toNumber(all.length)} ${resource}`],
  )
}
