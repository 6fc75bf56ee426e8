/**
 * Which namespaces an operator serves, by the patterns given to it. Asked by running/ whenever a namespace appears.
 * A pattern is decided by its globs from left to right; see the manual's chapter on scopes.
 */
import { matchesGlob } from './globs.ts'

/** Globs with commas between them, `!` to exclude; or a regular expression for the whole name. */
export type NamespacePattern = string | RegExp

/**
 * The first glob is decisive: what it does not take, nothing later does. Then each `!` takes out, and each of the others
 * takes back in. A pattern that begins with `!` begins with everything.
 */
export function matchesNamespace(pattern: NamespacePattern, name: string): boolean {
  if (typeof pattern !== 'string') return matchesWhole(pattern, name)
  const globs = pattern.split(',').map((glob) => glob.trim())
  if (globs[0]!.startsWith('!')) globs.unshift('*')
  const [first, ...others] = globs
  if (!matchesGlob(first!, name)) return false
  return others.reduce((isMatched, glob) => {
    if (glob.startsWith('!')) return isMatched && !matchesGlob(glob.replace(/^!+/, ''), name)
    return isMatched || matchesGlob(glob, name)
  }, true)
}

/** Whether the pattern can only mean the namespace of that name, so that it can be served without looking for it. */
export function isExactNamespace(pattern: NamespacePattern): pattern is string {
  return typeof pattern === 'string' && pattern.trim() !== '' && !/[!*?,[]/.test(pattern)
}

/** A copy of the expression: that of the user may remember where its last match was, or look at every line. */
function matchesWhole({ source, flags }: RegExp, name: string): boolean {
  const whole = new RegExp(`(?:${source})(?![\\s\\S])`, `${flags.replace(/[gy]/g, '')}y`)
  return whole.test(name)
}
