/** Sorts problems with fields by the order of the fields in the body, as built-in kinds are decoded. Called by decode.ts. */
import { isPlainObject } from '../util/json/json.ts'

/** Each problem ends with a quoted path, as in `unknown field "metadata.y"`. Problems whose path is not in the body come last. */
export function inOrderOfFields(problems: readonly string[], body: unknown): readonly string[] {
  if (problems.length < 2) return problems
  const ranks = rankPaths(new Set(problems.map(pathOf)), body)
  const rankOf = (problem: string): number => ranks.get(pathOf(problem)) ?? Number.MAX_SAFE_INTEGER
  return [...problems].sort((one, other) => rankOf(one) - rankOf(other))
}

function pathOf(problem: string): string {
  return problem.slice(problem.indexOf('"') + 1, -1)
}

/** Visits only the wanted paths and does not recurse, since clients decide how deep a body is. */
function rankPaths(wanted: ReadonlySet<string>, body: unknown): Map<string, number> {
  const ranks = new Map<string, number>()
  const isOnTheWay = ({ path }: { path: string }): boolean => [...wanted].some((one) => one.startsWith(path))
  const left: Array<{ path: string; value: unknown }> = [{ path: '', value: body }]
  while (left.length > 0 && ranks.size < wanted.size) {
    const { path, value } = left.pop()!
    if (wanted.has(path)) ranks.set(path, ranks.size)
    for (const child of childrenOf(path, value).filter(isOnTheWay).reverse()) left.push(child)
  }
  return ranks
}

function childrenOf(path: string, value: unknown): Array<{ path: string; value: unknown }> {
  if (Array.isArray(value)) return value.map((child: unknown, index) => ({ path: `${path}[${index}]`, value: child }))
  if (!isPlainObject(value)) return []
  return Object.entries(value).map(([key, child]) => ({ path: path === '' ? key : `${path}.${key}`, value: child }))
}
