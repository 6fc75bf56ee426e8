/**
 * Compares lines of a README with actual lines. Times, ages and addresses may differ, and "…" in a README stands for left-out text:
 * within a line, or as a line of its own.
 */

const gap = '…'
const timestamps = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?Z?|^\d\d:\d\d:\d\d(?= [A-Z]{4,5} )/g
/** The start of a log line in the short and in the full format, with the object that the line is about. */
const shortLine = /^\d\d:\d\d:\d\d [A-Z]+ +(?:(\S+) {2})?/
const fullLine = /^\[[^\]]+\] \S+ +\[[A-Z]+ *\] (?:\[([^\]]+)\] )?/
/** Ages in tables, whose columns vary in width. */
const ages = /(?<=^|\s)(\d+[smhd])+(?=\s|$)/g
const addresses = /\b10(\.\d+){3}\b/g

function isLineShown(shown: string, seen: string): boolean {
  return isSame(shown.replace(timestamps, '<time>'), seen.replace(timestamps, '<time>'))
}

/** Whether the README shows the whole output of a command. */
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

/** Lines of timers may come between any other lines. */
const isOfTimer = (line: string): boolean => / Timer '[^']+' succeeded\.$/.test(line)

/** The end of the shown lines among the actual lines from an index on, or undefined if some are missing. */
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

/** The lines of one operator. Lines about one object are compared in order and without gaps; objects are independent. */
export class Terminal {
  readonly #read: () => readonly string[]
  /** The end of the compared lines, by object. */
  readonly #ends = new Map<string, number>()

  constructor(read: () => readonly string[]) {
    this.#read = read
  }

  get lines(): readonly string[] {
    return this.#read()
  }

  /** Whether all these lines have been printed; if so, the next comparison continues after them. */
  shows(shown: readonly string[]): boolean {
    const seen = bySubject(this.lines)
    const ends = new Map<string, number>()
    for (const [subject, lines] of bySubject(shown)) {
      // Other lines about no object may come in between.
      const expected = subject === '' ? lines.flatMap((line) => [gap, line]) : lines
      const end = endOf(expected, seen.get(subject) ?? [], this.#ends.get(subject) ?? 0)
      if (end === undefined) return false
      ends.set(subject, end)
    }
    for (const [subject, end] of ends) this.#ends.set(subject, end)
    return true
  }
}

/** Groups lines by object. A line without a time belongs to the line before it; a gap belongs to all objects. */
function bySubject(lines: readonly string[]): Map<string, string[]> {
  const subjects = new Map<string, string[]>()
  let subject = ''
  const gaps: string[] = []
  for (const line of lines) {
    // The stack of an error depends on the caller of the handler.
    if (line.startsWith('    at ')) continue
    if (isGap(line)) {
      gaps.push(line)
      for (const own of subjects.values()) own.push(line)
      continue
    }
    const start = shortLine.exec(line) ?? fullLine.exec(line)
    if (start !== null) subject = start[1] ?? ''
    if (!subjects.has(subject)) subjects.set(subject, [...gaps])
    subjects.get(subject)!.push(line)
  }
  return subjects
}
