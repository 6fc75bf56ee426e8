/**
 * Removes calls of esbuild's helper `__name` that set the name that a function has anyway. With `keepNames`, which the ids of handlers need, esbuild writes a call
 * for each function declaration, also for those that it does not rename: 50 kB of a program are such calls for the code of this package. Called by bundle.ts.
 */
import { decode, encode } from './compact-mappings.ts'

export interface NamedCode {
  readonly code: string
  /** `mappings` of the source map of the code. */
  readonly mappings: string
}

/** A removed part of a line. */
interface Removal {
  readonly start: number
  readonly end: number
}

/** A segment of a source map with absolute numbers. */
interface MappingSegment {
  readonly column: number
  readonly source: number
  /** The rest of the segment, as it is in the source map. */
  readonly rest: string
}

/** A whole statement, or a part of a comma expression that other parts follow. */
const redundantCall = /(?<=[;{}]|^)__name\(([\w$]+),"\1"\);|(?<![\w$.])__name\(([\w$]+),"\2"\),/g

/** `isOwn`: whether a source of the source map belongs to this package. Other code stays as it is: it may have such a text in a string. */
export function removeRedundantNames({ code, mappings }: NamedCode, isOwn: (source: number) => boolean): NamedCode {
  const mappedLines = mappings.split(';')
  let source = 0
  const lines = code.split('\n').map((line, index): NamedCode => {
    const segments = readSegments(mappedLines[index] ?? '', source)
    const removals = findRemovals(line, [{ column: 0, source, rest: '' }, ...segments], isOwn)
    source = segments.at(-1)?.source ?? source
    if (removals.length === 0) return { code: line, mappings: mappedLines[index] ?? '' }
    return { code: cut(line, removals), mappings: moveSegments(segments, removals) }
  })
  return {
    code: lines.map((line) => line.code).join('\n'),
    mappings: mappedLines.map((line, index) => lines[index]?.mappings ?? line).join(';'),
  }
}

/** `source`: that of the segment before, to which the first one is relative. */
function readSegments(line: string, source: number): readonly MappingSegment[] {
  const segments: MappingSegment[] = []
  let column = 0
  let current = source
  for (const segment of line.split(',')) {
    if (segment === '') continue
    const [columns = '', sources, ...others] = segment.match(/[g-z0-9+/]*[A-Za-f]/g) ?? []
    column += decode(columns)
    if (sources !== undefined) current += decodeSigned(sources)
    segments.push({ column, source: current, rest: [sources, ...others].join('') })
  }
  return segments
}

function decodeSigned(text: string): number {
  const value = decode(text)
  return isNegative(text) ? -value : value
}

/** The first bit of a number is its sign. */
function isNegative(text: string): boolean {
  return 'BDFHJLNPRTVXZbdfhjlnprtvxz13579/'.includes(text[0]!)
}

/** `segments`: starts with the one that continues from the line before, since files of this package have few segments. */
function findRemovals(
  line: string,
  segments: readonly MappingSegment[],
  isOwn: (source: number) => boolean,
): Removal[] {
  const removals: Removal[] = []
  let index = -1
  for (const match of line.matchAll(redundantCall)) {
    while (segments[index + 1] !== undefined && segments[index + 1]!.column <= match.index) index += 1
    if (isOwn(segments[index]!.source)) removals.push({ start: match.index, end: match.index + match[0].length })
  }
  return removals
}

function cut(line: string, removals: readonly Removal[]): string {
  const starts = [0, ...removals.map(({ end }) => end)]
  return starts.map((start, index) => line.slice(start, removals[index]?.start)).join('')
}

/** Segments inside of a removed part move to its start. */
function moveSegments(segments: readonly MappingSegment[], removals: readonly Removal[]): string {
  let next = 0
  let removed = 0
  let before = 0
  return segments
    .map(({ column, rest }) => {
      for (; next < removals.length && removals[next]!.end <= column; next += 1) {
        removed += removals[next]!.end - removals[next]!.start
      }
      const moved = Math.min(column, removals[next]?.start ?? column) - removed
      const text = `${encode(moved - before)}${rest}`
      before = moved
      return text
    })
    .join(',')
}
