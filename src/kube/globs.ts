/**
 * Shell patterns: `*`, `?`, `[a-z]`, `[!a-z]`, as Python's fnmatch reads them. No regular expressions: those made of
 * globs can be made to backtrack without end. Here the time is at most the length of the text times that of the glob.
 */

/** What takes one character: itself, or a test. */
type Token = string | ((character: string) => boolean)

/** What is between two stars: text where it is nothing else, since texts are found fastest. */
type Segment = string | readonly Token[]

/** Case-sensitive; the whole text must match. */
export function matchesGlob(glob: string, text: string): boolean {
  const [first, ...others] = parseGlob(glob) as [Segment, ...Segment[]]
  const last = others.pop()
  if (last === undefined) return first.length === text.length && isAt(first, text, 0)
  const end = text.length - last.length
  if (end < first.length || !isAt(first, text, 0) || !isAt(last, text, end)) return false
  // Each is taken where it first occurs: to take it later would only leave less for the rest.
  let from = first.length
  for (const segment of others) {
    const at = find(segment, text, from)
    if (at < 0 || at + segment.length > end) return false
    from = at + segment.length
  }
  return true
}

function isAt(segment: Segment, text: string, at: number): boolean {
  if (typeof segment === 'string') return text.startsWith(segment, at)
  for (let index = 0; index < segment.length; index += 1) {
    const token = segment[index]!
    const character = text[at + index]!
    if (typeof token === 'string' ? token !== character : !token(character)) return false
  }
  return true
}

function find(segment: Segment, text: string, from: number): number {
  if (typeof segment === 'string') return text.indexOf(segment, from)
  for (let at = from; at + segment.length <= text.length; at += 1) if (isAt(segment, text, at)) return at
  return -1
}

/** One segment more than there are stars. */
function parseGlob(glob: string): Segment[] {
  const segments: Token[][] = [[]]
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob[at]!
    const end = character === '[' ? endOfSet(glob, at) : -1
    if (character === '*') segments.push([])
    else segments.at(-1)!.push(character === '?' ? () => true : end > 0 ? parseSet(glob.slice(at + 1, end)) : character)
    if (end > 0) at = end
  }
  return segments.map((tokens) => (tokens.every((token) => typeof token === 'string') ? tokens.join('') : tokens))
}

/** A bracket right after the opening, or after the negation, is one of the set; without an end it is no set at all. */
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
