/**
 * Matches namespaces against the patterns of an operator. Called by cluster/ for every namespace that appears.
 * The globs of a pattern are evaluated from left to right; see the manual's chapter on scopes.
 */

/** Comma-separated globs, with `!` to exclude, or a regular expression for the whole name. */
export type NamespacePattern = string | RegExp

/**
 * A name that the first glob does not match is not matched at all. Then each glob with `!` excludes names, and each glob without it
 * includes excluded names again. A pattern that begins with `!` starts from all names.
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

/** Whether the pattern matches one name only, so that no namespaces need to be listed. */
export function isExactNamespace(pattern: NamespacePattern): pattern is string {
  return typeof pattern === 'string' && pattern.trim() !== '' && !/[!*?,[]/.test(pattern)
}

/** Uses a copy of the expression: one with `g` or `y` keeps the position of its last match. */
function matchesWhole({ source, flags }: RegExp, name: string): boolean {
  const whole = new RegExp(`(?:${source})(?![\\s\\S])`, `${flags.replace(/[gy]/g, '')}y`)
  return whole.test(name)
}

/** Matches one character: a literal, or a test. */
type GlobToken = string | ((character: string) => boolean)

/** The part of a glob between two stars. A part of literals only is a string, which is found fastest. */
type GlobSegment = string | readonly GlobToken[]

/**
 * Whether the whole text matches a shell pattern (`*`, `?`, `[a-z]`, `[!a-z]`), as Python's fnmatch reads it; case-sensitive. Not by
 * a regular expression, which could backtrack exponentially: the time is at most the length of the text times that of the glob.
 */
export function matchesGlob(glob: string, text: string): boolean {
  const [first, ...others] = parseGlob(glob) as [GlobSegment, ...GlobSegment[]]
  const last = others.pop()
  if (last === undefined) return first.length === text.length && isAt(first, text, 0)
  const end = text.length - last.length
  if (end < first.length || !isAt(first, text, 0) || !isAt(last, text, end)) return false
  // The first occurrence is right: a later one would leave less text for the remaining segments.
  let from = first.length
  for (const segment of others) {
    const at = find(segment, text, from)
    if (at < 0 || at + segment.length > end) return false
    from = at + segment.length
  }
  return true
}

function isAt(segment: GlobSegment, text: string, at: number): boolean {
  if (typeof segment === 'string') return text.startsWith(segment, at)
  for (let index = 0; index < segment.length; index += 1) {
    const token = segment[index]!
    const character = text[at + index]!
    if (typeof token === 'string' ? token !== character : !token(character)) return false
  }
  return true
}

function find(segment: GlobSegment, text: string, from: number): number {
  if (typeof segment === 'string') return text.indexOf(segment, from)
  for (let at = from; at + segment.length <= text.length; at += 1) if (isAt(segment, text, at)) return at
  return -1
}

/** The segments between stars: one more than there are stars. */
function parseGlob(glob: string): GlobSegment[] {
  const segments: GlobToken[][] = [[]]
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob[at]!
    const end = character === '[' ? endOfSet(glob, at) : -1
    if (character === '*') segments.push([])
    else segments.at(-1)!.push(character === '?' ? () => true : end > 0 ? parseSet(glob.slice(at + 1, end)) : character)
    if (end > 0) at = end
  }
  return segments.map((tokens) => (tokens.every((token) => typeof token === 'string') ? tokens.join('') : tokens))
}

/** Index of the closing bracket, or -1. A `]` at the first position of the set is a member of it. */
function endOfSet(glob: string, start: number): number {
  const first = glob[start + 1] === '!' ? start + 2 : start + 1
  return glob.indexOf(']', first + 1)
}

function parseSet(text: string): (character: string) => boolean {
  const isNegated = text.startsWith('!')
  const members = isNegated ? text.slice(1) : text
  const ranges: Array<readonly [string, string]> = []
  for (let at = 0; at < members.length; at += 1) {
    const from = members[at]!
    const isRange = members[at + 1] === '-' && at + 2 < members.length
    ranges.push([from, isRange ? members[at + 2]! : from])
    if (isRange) at += 2
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated
}
