/**
 * Whether what was shown is what is seen. Both are lines; times, ages and addresses may differ, and "…" in a README stands for
 * what is left out: within a line, or as a line of its own.
 */

const gap = '…'
const timestamps = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?Z?/g
/** In tables, whose columns are as wide as they have to be. */
const ages = /(?<=^|\s)(\d+[smhd])+(?=\s|$)/g
const addresses = /\b10(\.\d+){3}\b/g

function isLineShown(shown: string, seen: string): boolean {
  return isSame(shown.replace(timestamps, '<time>'), seen.replace(timestamps, '<time>'))
}

/** The answer of a command, all of it. */
export function isAnswerShown(shown: readonly string[], seen: string, isSorted: boolean = true): boolean {
  const lines = seen.trimEnd() === '' ? [] : seen.trimEnd().split('\n').map(mask)
  const expected = shown.map(mask)
  const [ours, theirs] = isSorted ? [expected, lines] : [expected.toSorted(), lines.toSorted()]
  return theirs.length === ours.length && theirs.every((line, index) => isSame(ours[index]!, line))
}

function mask(line: string): string {
  const plain = line.replace(timestamps, '<time>').replace(ages, '<age>').replace(addresses, '<address>')
  return plain.replace(/ +/g, ' ').trimEnd()
}

function isSame(shown: string, seen: string): boolean {
  const parts = shown.split(gap).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(seen)
}

const isGap = (line: string): boolean => line.startsWith(gap)

/** Timers are called by the clock, between whatever else there is to say. */
const isOfTimer = (line: string): boolean => / Timer '[^']+' succeeded\.$/.test(line)

/** The end of the lines that were shown, among those that are seen, from here on; undefined where they are not all there. */
function endOf(shown: readonly string[], seen: readonly string[], from: number): number | undefined {
  const [first, ...rest] = shown
  if (first === undefined) return from
  if (!isGap(first)) {
    if (from === seen.length) return undefined
    if (isLineShown(first, seen[from]!)) return endOf(rest, seen, from + 1)
    return isOfTimer(seen[from]!) ? endOf(shown, seen, from + 1) : undefined
  }
  for (let next = from; next <= seen.length; next += 1) {
    const end = endOf(rest, seen, next)
    if (end !== undefined) return end
  }
  return undefined
}

/** The lines of one operator. What is said of one object is in order and without gaps; of different objects, as it comes. */
export class Terminal {
  readonly #read: () => readonly string[]
  /** How far has been read, by object. */
  readonly #ends = new Map<string, number>()

  constructor(read: () => readonly string[]) {
    this.#read = read
  }

  get lines(): readonly string[] {
    return this.#read()
  }

  /** Whether all of it is there; read on from its end then. */
  shows(shown: readonly string[]): boolean {
    const seen = bySubject(this.lines)
    const ends = new Map<string, number>()
    for (const [subject, lines] of bySubject(shown)) {
      // What is about no object has other such lines between.
      const expected = subject === '' ? lines.flatMap((line) => [gap, line]) : lines
      const end = endOf(expected, seen.get(subject) ?? [], this.#ends.get(subject) ?? 0)
      if (end === undefined) return false
      ends.set(subject, end)
    }
    for (const [subject, end] of ends) this.#ends.set(subject, end)
    return true
  }
}

/** Lines by the object they are about. A line without a time goes on with the one before it; a gap is one for everybody. */
function bySubject(lines: readonly string[]): Map<string, string[]> {
  const subjects = new Map<string, string[]>()
  let subject = ''
  const gaps: string[] = []
  for (const line of lines) {
    // The stack of an error depends on who has called the handler.
    if (line.startsWith('    at ')) continue
    if (isGap(line)) {
      gaps.push(line)
      for (const own of subjects.values()) own.push(line)
      continue
    }
    if (line.startsWith('[')) subject = /^\[[^\]]+\] \S+ +\[[A-Z]+ *\] \[([^\]]+)\] /.exec(line)?.[1] ?? ''
    if (!subjects.has(subject)) subjects.set(subject, [...gaps])
    subjects.get(subject)!.push(line)
  }
  return subjects
}
