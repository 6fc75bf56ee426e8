/** Reads the query of a view: known names only, and bounded values. Pure. */
import { invalidRequest } from '../problem.ts'

export type ViewParameters = Readonly<Partial<Record<(typeof queryNames)[number], string>>>

const queryNames = ['resource', 'namespace', 'name', 'state', 'text', 'sort', 'order', 'offset', 'limit'] as const

const maxValueLength = 512

/** Unknown names are ignored, so that a newer page works with an older operator. */
export function readQuery(params: URLSearchParams): ViewParameters {
  const query: { [K in (typeof queryNames)[number]]?: string } = {}
  for (const name of queryNames) {
    const value = params.get(name)
    if (value === null || value === '') continue
    if (value.length > maxValueLength) throw invalidRequest(400, `"${name}" has more than ${maxValueLength} characters`)
    query[name] = value
  }
  return query
}

/** The same text for equal queries. */
export function queryKey(query: ViewParameters): string {
  return JSON.stringify(queryNames.map((name) => query[name] ?? null))
}

export function readInteger(
  text: string | undefined,
  { byDefault, max }: { readonly byDefault: number; readonly max: number },
): number {
  if (text === undefined) return byDefault
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) throw invalidRequest(400, `"${text.slice(0, 40)}" is not a number`)
  return Math.min(value, max)
}
