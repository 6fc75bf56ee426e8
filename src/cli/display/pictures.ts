/**
 * What a person sees of a run on a terminal: from numbers to lines. What is drawn over is never wider than the terminal; what stays
 * is no poorer for a narrow one, and is broken where it must be. Pure.
 */
import type { ObjectOutcome } from '../../operator.ts'
import type { Burst, Watched } from './account.ts'
import type { Palette } from './palette.ts'
import { cutTo, toCount, toDuration, toNumber } from './words.ts'

export interface Look {
  readonly columns: number
  readonly palette: Palette
}

export interface Title {
  readonly version: string
  /** Of the operator, or of its files. */
  readonly name: string
  /** Where it runs. */
  readonly place: string
  /** Which namespaces it serves. */
  readonly scope: string
}

/** On one line where it fits. */
export function drawTitle({ version, name, place, scope }: Title, { columns, palette }: Look): string[] {
  const [who, where] = [`kopf ${version}: ${name}`, `on ${place}, ${scope}`]
  if (who.length + 1 + where.length <= columns) return [`${palette.bold(who)} ${where}`]
  return [palette.bold(who), `  ${where}`]
}

/** More rows than that are no overview. */
const mostRows = 12

export function drawTable(watched: readonly Watched[], look: Look): string[] {
  if (watched.length === 0) return ['  Nothing is watched yet.']
  const shown = watched.length > mostRows ? watched.slice(0, mostRows - 1) : watched
  const rest = watched.slice(shown.length)
  const sizes = alignSizes(shown.map(describeSize))
  const nameWidth = longest(shown.map(({ name }) => name))
  const rows = shown.map(({ name, kinds }, row) =>
    drawRow([`  ${name.padEnd(nameWidth)}`, sizes[row]!, describeKinds(kinds)], look),
  )
  if (rest.length === 0) return rows
  const objects = rest.reduce((sum, one) => sum + (one.objects ?? 0), 0)
  const more = `  and ${toCount(rest.length, 'more resource')} with ${toCount(objects, 'object')}`
  return [...rows, more]
}

function describeSize({ objects }: Watched): string {
  return objects === undefined ? 'not listed' : toCount(objects, 'object')
}

/** The numbers, and not the ends of the words, are below each other. */
function alignSizes(sizes: readonly string[]): string[] {
  const hasPlural = sizes.some((size) => size.endsWith(' objects'))
  const ended = sizes.map((size) => (hasPlural && size.endsWith(' object') ? `${size} ` : size))
  return ended.map((size) => size.padStart(longest(ended)))
}

function longest(texts: readonly string[]): number {
  return Math.max(...texts.map(({ length }) => length))
}

function drawRow([name, size, kinds]: readonly [string, string, string], { columns, palette }: Look): string {
  const start = cutTo(columns, `${name}   ${size}`.trimEnd())
  const room = columns - `${name}   ${size}`.length - 3
  return room < 6 ? start : `${name}   ${size}   ${palette.dim(cutTo(room, kinds))}`
}

/** `create, update ×2`, in the order of the first of each. */
export function describeKinds(kinds: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts].map(([kind, count]) => (count === 1 ? kind : `${kind} ×${count}`)).join(', ')
}

/** What the terminal shows of Ctrl-C has its place behind what is drawn: it must not break the line. */
const margin = 3

interface Sight {
  readonly watched: readonly Watched[]
  readonly burst: Burst
}

/** While what is there is still to come. */
export function drawListing({ watched, burst }: Sight, { columns }: Look): string {
  const listed = watched.filter(({ objects }) => objects !== undefined).length
  const handled = burst.settled === 0 ? '' : `, ${toNumber(burst.settled)} handled`
  const of = `${toNumber(listed)} of ${toCount(watched.length, 'resource')}`
  return cutTo(columns - margin, `Listing what is there: ${of}, ${toCount(burst.found, 'object')}${handled}`)
}

const widestBar = 30
const narrowestBar = 8

/** Where it is narrow, less is said beside the bar. */
export function drawBar(burst: Burst, { columns, palette }: Look): string {
  const { found, settled } = burst
  const count = `${toNumber(settled)} of ${toNumber(found)} handled`
  const [trouble, left] = [describeTrouble(burst), describeRest(burst)]
  const texts = [[count, ...trouble, ...left], [count, ...left], [count]].map((parts) => parts.join(', '))
  const roomBeside = (text: string) => columns - margin - text.length - 3
  const text = texts.find((one) => roomBeside(one) >= narrowestBar)
  if (text === undefined) return cutTo(columns - margin, count)
  return `▕${palette.green(fill(Math.min(widestBar, roomBeside(text)), settled / found))}▏ ${text}`
}

/** Before there is something to go by, nothing is promised. */
function describeRest({ found, settled, tookMs }: Burst): string[] {
  if (settled < 5 || tookMs < 2000) return []
  return [`${toDuration(((found - settled) * tookMs) / settled)} left`]
}

function fill(width: number, share: number): string {
  const eighths = Math.floor(Math.min(1, share) * width * 8)
  const part = ' ▏▎▍▌▋▊▉'[eighths % 8]!
  return `${'█'.repeat(Math.floor(eighths / 8))}${eighths % 8 === 0 ? '' : part}`.padEnd(width)
}

function describeTrouble({ outcomes }: Burst): string[] {
  return describeOutcomes(trouble, outcomes)
}

function describeOutcomes(words: ReadonlyMap<ObjectOutcome, string>, outcomes: Burst['outcomes']): string[] {
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

const trouble: ReadonlyMap<ObjectOutcome, string> = new Map([
  ['retrying', 'to be retried'],
  ['failed', 'failed'],
])

/** What came of it, when it is over; or when no more comes of the rest for long. */
export function drawSummary(burst: Burst, palette: Palette): string {
  const { found, settled, outcomes, tookMs } = burst
  const left = found === settled ? [] : [`${toNumber(found - settled)} still under way`]
  const parts = [...describeOutcomes(successes, outcomes), ...left, ...describeTrouble(burst)]
  const text = `Caught up with ${toCount(settled, 'object')} in ${toDuration(tookMs)}: ${parts.join(', ')}.`
  const paint = outcomes.has('failed') ? palette.red : outcomes.has('retrying') ? palette.yellow : palette.green
  return paint(text)
}

/** Somebody has stopped it in the middle. */
export function drawInterruption({ found, settled }: Burst, palette: Palette): string {
  const text = `Stopped after ${toNumber(settled)} of ${toCount(found, 'object')}: the rest is for the next start.`
  return palette.yellow(text)
}
