/**
 * Renders the progress of a run as text for a terminal. The status line is never wider than the terminal; permanent lines are complete, and the
 * terminal may wrap them. Pure.
 */
import type { ObjectOutcome } from '../../observer.ts'
import type { Palette } from './colours.ts'
import type { ChangeBurst, WatchedProgress } from './progress-model.ts'
import { truncate } from './text-width.ts'

export interface RenderStyle {
  readonly columns: number
  readonly palette: Palette
}

export interface RenderTitle {
  readonly version: string
  /** The name of the operator, or of its files. */
  readonly name: string
  /** The cluster. */
  readonly place: string
  /** The served namespaces. */
  readonly scope: string
}

/** One line if the terminal is wide enough, otherwise two. */
export function drawTitle({ version, name, place, scope }: RenderTitle, { columns, palette }: RenderStyle): string[] {
  const [who, where] = [`kopf ${version}: ${name}`, `on ${place}, ${scope}`]
  if (who.length + 1 + where.length <= columns) return [`${palette.bold(who)} ${where}`]
  return [palette.bold(who), `  ${where}`]
}

/** Further resources are summarised in the last row. */
const maxRows = 12

export function drawTable(watched: readonly WatchedProgress[], style: RenderStyle): string[] {
  if (watched.length === 0) return ['  Nothing is watched yet.']
  const shown = watched.length > maxRows ? watched.slice(0, maxRows - 1) : watched
  const rest = watched.slice(shown.length)
  const sizes = alignSizes(shown.map(describeSize))
  const nameWidth = maxNameLength(shown.map(({ name }) => name))
  const rows = shown.map(({ name, handlerTypes: types }, row) =>
    drawRow([`  ${name.padEnd(nameWidth)}`, sizes[row]!, describeTypes(types)], style),
  )
  if (rest.length === 0) return rows
  const objects = rest.reduce((sum, one) => sum + (one.objects ?? 0), 0)
  const more = `  and ${toCount(rest.length, 'more resource')} with ${toCount(objects, 'object')}`
  return [...rows, more]
}

function describeSize({ objects }: WatchedProgress): string {
  return objects === undefined ? 'not listed' : toCount(objects, 'object')
}

/** Aligns the numbers rather than the ends of the words. */
function alignSizes(sizes: readonly string[]): string[] {
  const hasPlural = sizes.some((size) => size.endsWith(' objects'))
  const ended = sizes.map((size) => (hasPlural && size.endsWith(' object') ? `${size} ` : size))
  return ended.map((size) => size.padStart(maxNameLength(ended)))
}

function maxNameLength(texts: readonly string[]): number {
  return Math.max(...texts.map(({ length }) => length))
}

function drawRow([name, size, types]: readonly [string, string, string], { columns, palette }: RenderStyle): string {
  const start = truncate(columns, `${name}   ${size}`.trimEnd())
  const width = columns - `${name}   ${size}`.length - 3
  return width < 6 ? start : `${name}   ${size}   ${palette.dim(truncate(width, types))}`
}

/** `create, update ×2`, in the order of the first occurrence. */
export function describeTypes(types: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts].map(([type, count]) => (count === 1 ? type : `${type} ×${count}`)).join(', ')
}

/** Columns that stay free after the status line: the terminal prints `^C` there, which must not wrap the line. */
const margin = 3

interface ListingProgress {
  readonly watched: readonly WatchedProgress[]
  readonly burst: ChangeBurst
}

/** The status line while the resources are listed. */
export function drawListing({ watched, burst }: ListingProgress, { columns }: RenderStyle): string {
  const listed = watched.filter(({ objects }) => objects !== undefined).length
  const handled = burst.settled === 0 ? '' : `, ${toNumber(burst.settled)} handled`
  const of = `${toNumber(listed)} of ${toCount(watched.length, 'resource')}`
  return truncate(columns - margin, `Listing existing objects: ${of}, ${toCount(burst.found, 'object')}${handled}`)
}

const maxBarWidth = 30
const minBarWidth = 8

/** The status line while objects are processed. On a narrow terminal, the text beside the bar is shorter. */
export function drawBar(burst: ChangeBurst, { columns, palette }: RenderStyle): string {
  const { found, settled } = burst
  const count = `${toNumber(settled)} of ${toNumber(found)} handled`
  const [trouble, left] = [describeProblems(burst), describeRemaining(burst)]
  const texts = [[count, ...trouble, ...left], [count, ...left], [count]].map((parts) => parts.join(', '))
  const widthBeside = (text: string) => columns - margin - text.length - 3
  const text = texts.find((one) => widthBeside(one) >= minBarWidth)
  if (text === undefined) return truncate(columns - margin, count)
  return `▕${palette.green(fill(Math.min(maxBarWidth, widthBeside(text)), settled / found))}▏ ${text}`
}

/** The estimated remaining time; empty until enough objects are processed. */
function describeRemaining({ found, settled, tookMs }: ChangeBurst): string[] {
  if (settled < 5 || tookMs < 2000) return []
  return [`${toDuration(((found - settled) * tookMs) / settled)} left`]
}

function fill(width: number, share: number): string {
  const eighths = Math.floor(Math.min(1, share) * width * 8)
  const part = ' ▏▎▍▌▋▊▉'[eighths % 8]!
  return `${'█'.repeat(Math.floor(eighths / 8))}${eighths % 8 === 0 ? '' : part}`.padEnd(width)
}

function describeProblems({ outcomes }: ChangeBurst): string[] {
  return describeOutcomes(problems, outcomes)
}

function describeOutcomes(words: ReadonlyMap<ObjectOutcome, string>, outcomes: ChangeBurst['outcomes']): string[] {
  return [...words].flatMap(([outcome, word]) => {
    const count = outcomes.get(outcome) ?? 0
    return count === 0 ? [] : [`${toNumber(count)} ${word}`]
  })
}

const successes: ReadonlyMap<ObjectOutcome, string> = new Map([
  ['created', 'created'],
  ['updated', 'updated'],
  ['resumed', 'resumed'],
  ['deleted', 'deleted'],
  ['reconciled', 'reconciled'],
  ['unchanged', 'unchanged'],
  ['watched', 'watched'],
  ['skipped', 'left alone'],
  ['left', 'let go'],
])

const problems: ReadonlyMap<ObjectOutcome, string> = new Map([
  ['retrying', 'to be retried'],
  ['failed', 'failed'],
])

/** The summary when all objects are processed, or when the last ones make no progress. */
export function drawSummary(burst: ChangeBurst, palette: Palette): string {
  const { found, settled, outcomes, tookMs } = burst
  const left = found === settled ? [] : [`${toNumber(found - settled)} in progress`]
  const parts = [...describeOutcomes(successes, outcomes), ...left, ...describeProblems(burst)]
  const text = `Caught up with ${toCount(settled, 'object')} in ${toDuration(tookMs)}: ${parts.join(', ')}.`
  const paint = outcomes.has('failed') ? palette.red : outcomes.has('retrying') ? palette.yellow : palette.green
  return paint(text)
}

/** The message after a stop before all objects were processed. */
export function drawInterruption({ found, settled }: ChangeBurst, palette: Palette): string {
  const text = `Stopped after ${toNumber(settled)} of ${toCount(found, 'object')}: the others are handled at the next start.`
  return palette.yellow(text)
}

/** With thousands separators: `1,204`. `Intl.NumberFormat` would need seven megabytes of memory. */
export function toNumber(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}

/** `1 object`, `1,204 objects` */
export function toCount(count: number, one: string): string {
  return `${toNumber(count)} ${count === 1 ? one : `${one}s`}`
}

/** At most two units: `0.4 s`, `12 s`, `2 min 5 s`, `1 h 5 min`. */
export function toDuration(ms: number): string {
  if (ms < 9950) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return join(Math.floor(seconds / 60), 'min', seconds % 60, 's')
  const minutes = Math.round(seconds / 60)
  return join(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
}

function join(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`
}
